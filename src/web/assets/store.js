// The cluster as the server tells it: whole at first, then by deltas; and a moment of the past when somebody goes back.
import { ask, Problem } from './dom.js';

const sections = ['rows', 'nodes', 'pending', 'queues'];
const empty = () => ({ seq: 0, at: 0, total: {}, rows: {}, nodes: {}, pending: {}, queues: {} });

export class Store extends EventTarget {
  live = empty();
  past = null;
  control = { mode: 'cluster', paused: false, speed: 1 };
  source = null;
  heard = performance.now();

  get shown() { return this.past || this.live; }
  // The time of what is shown, also between two deltas.
  now() { return this.past ? this.past.at : this.liveNow(); }
  // The cluster's.
  liveNow() {
    const rate = this.control.mode === 'model' ? (this.control.paused ? 0 : this.control.speed || 0) : 1;
    return this.live.at + Math.min(5, (performance.now() - this.heard) / 1000) * rate;
  }

  async start() {
    this.control = await ask('control');
    this.emit('control');
    await this.load();
    this.listen();
  }
  async load() {
    this.live = { ...empty(), ...(await ask('state')) };
    this.heard = performance.now();
    if (!this.past) this.emit('whole');
  }
  listen() {
    if (this.source) this.source.close();
    const source = new EventSource('/api/v1/events?since=' + this.live.seq);
    this.source = source;
    source.addEventListener('open', () => this.emit('link', 'on'));
    source.addEventListener('error', () => {
      this.emit('link', 'off');
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.again(), 2000);
    });
    source.addEventListener('delta', (event) => this.apply(JSON.parse(event.data)));
    source.addEventListener('reset', () => this.again());
    source.addEventListener('decision', (event) => this.emit('decision', JSON.parse(event.data)));
    source.addEventListener('control', (event) => { this.control = JSON.parse(event.data); this.emit('control'); });
  }
  async again() {
    try {
      this.source.close();
      await this.load();
      this.listen();
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 401) location.reload();
      else setTimeout(() => this.again(), 2000);
    }
  }
  apply(delta) {
    if (delta.seq <= this.live.seq) return;
    if (delta.seq !== this.live.seq + 1) { this.again(); return; }
    this.live.seq = delta.seq;
    this.live.at = delta.at;
    this.heard = performance.now();
    if (delta.total) this.live.total = delta.total;
    for (const section of sections) {
      for (const name of (delta.gone && delta.gone[section]) || []) delete this.live[section][name];
      if (delta[section]) Object.assign(this.live[section], delta[section]);
    }
    if (!this.past) this.emit('delta', delta);
  }
  async goTo(at) {
    const past = { ...empty(), ...(await ask('state?at=' + Math.round(at))) };
    this.past = past;
    this.emit('whole');
  }
  goLive() {
    if (!this.past) return;
    this.past = null;
    this.emit('whole');
  }
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
