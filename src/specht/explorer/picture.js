// Figures as files, when a button that stands below one is pressed. They are drawn anew, in dark ink on white and at one width, so that a
// picture is the same from a telephone at night as from a wide window by day.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-picture]");
  if (!button) return;
  const frame = button.closest(".specht-figure").querySelector("marimo-plotly"); // the figure stands in a document of its own
  const plot = frame.shadowRoot.querySelector(".js-plotly-plot");
  if (!plot?.data) return; // it is not drawn yet
  const { data, layout } = structuredClone({ data: plot.data, layout: plot.layout });
  Object.assign(layout, { paper_bgcolor: "#ffffff", font: { ...layout.font, color: "#1d2328" } });
  const format = button.dataset.picture;
  const size = { width: 840, height: layout.height, scale: format === "svg" ? 1 : 2 };
  Plotly.downloadImage({ data, layout }, { format, filename: button.dataset.name, ...size });
});
