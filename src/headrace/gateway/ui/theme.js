// The theme: the system's, until somebody chooses; the choice stays in this browser.
const hrTheme = {
  names: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  chosen: () => localStorage.getItem("headrace-theme") || "auto",
  apply() {
    const theme = this.chosen();
    Quasar.Dark.set(theme === "auto" ? "auto" : theme === "dark");
    for (const button of document.querySelectorAll(".hr-theme")) button.textContent = this.names[theme];
  },
  next() {
    const order = Object.keys(this.names);
    localStorage.setItem("headrace-theme", order[(order.indexOf(this.chosen()) + 1) % order.length]);
    this.apply();
  },
};
