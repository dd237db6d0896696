"""From a spectrum or a Gram to what is learnt from N samples."""
