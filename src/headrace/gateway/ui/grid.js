// A table of finished text: sort buttons in the head, links, tags, bars and buttons in cells. Every value is interpolated as
// text or as an attribute of a fixed kind, never as markup.
export default {
  template: `
    <div class="hr-grid-box">
      <table class="hr-grid" :aria-label="label">
        <thead><tr>
          <th v-for="column in columns" scope="col" :class="column.kind" :aria-sort="order(column)" :style="column.width ? { width: column.width } : {}">
            <button v-if="column.sortable" type="button" @click="$emit('sort', column.name)">{{ column.label }}<span aria-hidden="true">{{ arrow(column) }}</span></button>
            <span v-else>{{ column.label }}</span>
          </th>
        </tr></thead>
        <tbody>
          <tr v-for="row in rows" :key="row.key" :class="{ openable }" :tabindex="openable ? 0 : undefined"
              @click="open($event, row)" @keydown.enter.self="open($event, row)">
            <td v-for="column in columns" :class="column.kind">
              <template v-if="row[column.name] == null"></template>
              <a v-else-if="column.kind === 'link'" :href="row[column.name].href">{{ row[column.name].text }}</a>
              <span v-else-if="column.kind === 'tags'" class="hr-tags"><span v-for="tag in row[column.name]" class="hr-tag" :class="tag.tone" :title="tag.title">{{ tag.text }}</span></span>
              <span v-else-if="column.kind === 'bar'" class="hr-bar" :class="row[column.name].tone"><i :style="{ width: Math.round(Math.min(1, row[column.name].share) * 100) + '%' }"></i><span>{{ row[column.name].text }}</span></span>
              <span v-else-if="column.kind === 'acts'" class="hr-acts"><button v-for="act in row[column.name]" type="button" class="hr-quiet" @click.stop="$emit('act', { act: act.name, key: row.key })" :aria-label="act.label + ' ' + row.key">{{ act.label }}</button></span>
              <template v-else>{{ row[column.name] }}</template>
            </td>
          </tr>
        </tbody>
      </table>
      <p v-if="!rows.length" class="hr-grid-none">{{ none }}</p>
    </div>`,
  props: { columns: Array, rows: Array, label: String, none: String, sorted: String, descending: Boolean, openable: Boolean },
  methods: {
    order(column) {
      if (column.name !== this.sorted) return undefined;
      return this.descending ? "descending" : "ascending";
    },
    arrow(column) {
      if (column.name !== this.sorted) return "";
      return this.descending ? " ↓" : " ↑";
    },
    open(event, row) {
      if (this.openable && !event.target.closest("a, button") && !String(getSelection())) this.$emit("open", row.key);
    },
  },
};
