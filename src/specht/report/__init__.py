"""What people read: figures and self-contained HTML files, made from results and never computing any."""
