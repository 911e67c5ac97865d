// A line chart in SVG: a few series over the same moments, with the values under the pointer or the arrow keys.
// Colours come from the stylesheet, so that a change of theme needs no redraw. Names are hostile text: only interpolated.
const HEIGHT = 180, LEFT = 56, RIGHT = 12, TOP = 12, BOTTOM = 22;

function niceTop(value) {
  if (!(value > 0)) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(value)));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((top) => top >= value);
}

export default {
  template: `
    <figure class="hr-chart" ref="box">
      <svg :viewBox="'0 0 ' + width + ' ' + ${HEIGHT}" :width="width" height="${HEIGHT}" role="img" :aria-label="summary"
           tabindex="0" @pointermove="onPointer" @pointerleave="at = null" @blur="at = null" @keydown="onKey">
        <g v-for="tick in ticks" class="hr-chart-grid">
          <line :x1="${LEFT}" :x2="width - ${RIGHT}" :y1="tick.y" :y2="tick.y" />
          <text :x="${LEFT} - 8" :y="tick.y + 4" text-anchor="end">{{ tick.label }}</text>
        </g>
        <text v-for="tick in moments" class="hr-chart-moment" :x="tick.x" :y="${HEIGHT} - 5" :text-anchor="tick.anchor">{{ tick.label }}</text>
        <template v-for="(line, index) in lines">
          <path v-if="lines.length === 1" class="hr-chart-area" :d="line.area" />
          <path class="hr-chart-line" :style="{ stroke: colour(index) }" :d="line.path" />
        </template>
        <g v-if="at !== null">
          <line class="hr-chart-cross" :x1="x(at)" :x2="x(at)" y1="${TOP}" :y2="${HEIGHT - BOTTOM}" />
          <circle v-for="(one, index) in series" v-show="one.values[at] != null" :cx="x(at)" :cy="y(one.values[at] || 0)" r="3.5" :style="{ fill: colour(index) }" />
        </g>
      </svg>
      <figcaption>
        <span v-for="(one, index) in series" class="hr-chart-key">
          <i :style="{ background: colour(index) }"></i>{{ one.name }}
          <b>{{ write(one.values[at === null ? times.length - 1 : at]) }}</b>
        </span>
        <span class="hr-chart-when" v-if="at !== null">{{ clock(times[at]) }}</span>
        <span class="hr-chart-when" v-else-if="!times.length">{{ waiting }}</span>
      </figcaption>
    </figure>`,
  props: { times: Array, series: Array, unit: String, label: String, waiting: String },
  data: () => ({ width: 600, at: null }),
  mounted() {
    this.watcher = new ResizeObserver(() => (this.width = Math.max(240, this.$refs.box.clientWidth)));
    this.watcher.observe(this.$refs.box);
    this.width = Math.max(240, this.$refs.box.clientWidth);
  },
  unmounted() {
    this.watcher.disconnect();
  },
  computed: {
    top() {
      return niceTop(Math.max(0, ...this.series.flatMap((one) => one.values.filter((value) => value != null))));
    },
    ticks() {
      return [0, 0.5, 1].map((share) => ({ y: this.y(this.top * share), label: this.write(this.top * share) }));
    },
    moments() {
      const last = this.times.length - 1;
      if (last < 1) return [];
      const places = [["start", 0], ["middle", 0.5], ["end", 1]];
      return places.map(([anchor, share]) => ({
        anchor,
        x: LEFT + share * (this.width - LEFT - RIGHT),
        label: this.clock(this.times[0] + share * (this.times[last] - this.times[0])),
      }));
    },
    lines() {
      return this.series.map((one) => {
        let path = "", pen = "M", first = null, last = null;
        one.values.forEach((value, index) => {
          if (value == null) return (pen = "M");
          first ??= index;
          last = index;
          path += pen + this.x(index).toFixed(1) + " " + this.y(value).toFixed(1);
          pen = "L";
        });
        const area = first === null ? "" : path + "L" + this.x(last) + " " + this.y(0) + "L" + this.x(first) + " " + this.y(0) + "Z";
        return { path, area };
      });
    },
    summary() {
      const now = this.series.map((one) => one.name + " " + this.write(one.values[one.values.length - 1]));
      return this.label + ": " + (now.join(", ") || this.waiting);
    },
  },
  methods: {
    x(index) {
      const span = this.times[this.times.length - 1] - this.times[0] || 1;
      return LEFT + ((this.times[index] - this.times[0]) / span) * (this.width - LEFT - RIGHT);
    },
    y(value) {
      return TOP + (1 - value / this.top) * (HEIGHT - TOP - BOTTOM);
    },
    colour: (index) => "var(--hr-series-" + ((index % 8) + 1) + ")",
    clock: (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false }),
    write(value) {
      if (value == null) return "–";
      let step = 0, scaled = value;
      const bytes = this.unit.startsWith("B");
      while (Math.abs(scaled) >= 999.5 && step < 4) (scaled /= 1000), step++;
      const digits = scaled >= 100 || scaled === Math.round(scaled) ? Math.round(scaled) : Number(scaled.toPrecision(3));
      return digits + (bytes ? " " : "") + ["", "k", "M", "G", "T"][step].toUpperCase().replace("K", bytes ? "K" : "k") + this.unit;
    },
    onPointer(event) {
      const box = event.currentTarget.getBoundingClientRect();
      this.at = this.nearest(event.clientX - box.left);
    },
    onKey(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !this.times.length) return;
      event.preventDefault();
      const from = this.at === null ? this.times.length - 1 : this.at + step;
      this.at = Math.min(this.times.length - 1, Math.max(0, from));
    },
    nearest(x) {
      let best = null;
      this.times.forEach((_, index) => {
        if (best === null || Math.abs(this.x(index) - x) < Math.abs(this.x(best) - x)) best = index;
      });
      return best;
    },
  },
};
