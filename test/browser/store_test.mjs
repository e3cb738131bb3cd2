// What the page makes of answers that overtake each other, without a browser: store_test.mjs [ASSETS]
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

// As modules, which node takes them for only beside a file that says so.
const dir = mkdtempSync(path.join(tmpdir(), 'assets-'));
cpSync(process.argv[2] || 'src/web/assets', dir, { recursive: true });
writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
const { Store } = await import(path.join(dir, 'store.js'));
const { placeOf } = await import(path.join(dir, 'dom.js'));
const { Timeline } = await import(path.join(dir, 'timeline.js'));
rmSync(dir, { recursive: true });

// A server that answers when it is told to, and streams that are written by hand.
let questions = [];
globalThis.fetch = (url) => new Promise((done) => {
  questions.push({ path: url.replace('/api/v1/', ''), answer: (body, status = 200) => done({ ok: status < 400, status, text: async () => JSON.stringify(body) }) });
});
let streams = [];
globalThis.EventSource = class extends EventTarget {
  static CLOSED = 2;
  readyState = 1;
  constructor(url) { super(); this.url = url; streams.push(this); }
  close() { this.readyState = 2; }
  write(type, body) { if (this.readyState !== 2) this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(body) })); }
};
const settle = () => new Promise((done) => setImmediate(done));
async function asked(what) {
  await settle();
  const at = questions.findIndex((question) => question.path.startsWith(what));
  assert.ok(at >= 0, 'nobody asks for ' + what);
  return questions.splice(at, 1)[0];
}
const open = () => streams.filter((stream) => stream.readyState !== 2);

async function live(seq = 1000) {
  questions = [];
  streams = [];
  const store = new Store();
  const started = store.start();
  (await asked('control')).answer({ mode: 'cluster' });
  (await asked('state')).answer({ seq, at: 50, nodes: { now: {} } });
  await started;
  return store;
}

test('of two moments of the past the one that was asked for last is shown', async () => {
  const store = await live();
  const first = store.goTo(10);
  const second = store.goTo(20);
  const slow = await asked('state?at=10');
  (await asked('state?at=20')).answer({ at: 20 });
  assert.equal(await second, true);
  slow.answer({ at: 10 });
  assert.equal(await first, false);
  assert.equal(store.past.at, 20);
});

test('who has come back to now is not thrown into the past by an answer that was under way', async () => {
  const store = await live();
  const went = store.goTo(10);
  const slow = await asked('state?at=10');
  store.goLive();
  slow.answer({ at: 10 });
  assert.equal(await went, false);
  assert.equal(store.past, null);
  // Nor is a failure of it told to anybody.
  const failed = store.goTo(11);
  const bad = await asked('state?at=11');
  store.goLive();
  bad.answer({ error: 'no' }, 503);
  assert.equal(await failed, false);
});

test('what is asked for and fails is told', async () => {
  const store = await live();
  const went = store.goTo(10);
  (await asked('state?at=10')).answer({ error: 'nothing has been kept yet' }, 404);
  await assert.rejects(went, /nothing has been kept yet/);
});

test('two states that are asked for at once leave the newer one and one stream', async () => {
  const store = await live();
  streams[0].write('reset', {});
  store.again();
  await settle();
  const states = questions.splice(0).filter((question) => question.path === 'state');
  assert.equal(states.length, 2);
  states[1].answer({ seq: 2000, at: 70 });
  await settle();
  states[0].answer({ seq: 1500, at: 60 });
  await settle();
  assert.equal(store.live.seq, 2000);
  assert.deepEqual(open().map((stream) => stream.url), ['/api/v1/events?since=2000']);
});

test('a delta that does not follow makes the page ask anew, one of before is nothing', async () => {
  const store = await live();
  streams[0].write('delta', { seq: 1001, at: 51, nodes: { more: {} } });
  streams[0].write('delta', { seq: 1001, at: 51, nodes: { other: {} } });
  assert.deepEqual(Object.keys(store.live.nodes), ['now', 'more']);
  streams[0].write('delta', { seq: 1003, at: 53 });
  (await asked('state')).answer({ seq: 1003, at: 53 });
  await settle();
  assert.equal(open().length, 1);
});

test('a page that rests holds no connection, and asks for everything when it wakes', async () => {
  const store = await live();
  store.rest();
  assert.equal(open().length, 0);
  store.rest();
  store.again(); // what a timer had planned
  await settle();
  assert.equal(questions.length, 0);
  store.wake();
  store.wake();
  (await asked('state')).answer({ seq: 3000, at: 90 });
  await settle();
  assert.deepEqual(open().map((stream) => stream.url), ['/api/v1/events?since=3000']);
  assert.equal(questions.length, 0);
  assert.equal(store.live.at, 90);
});

test('a page that rests while it is asking does not begin to listen', async () => {
  const store = await live();
  store.again();
  const state = await asked('state');
  store.rest();
  state.answer({ seq: 5000, at: 99 });
  await settle();
  assert.equal(open().length, 0);
});

// Elements that take whatever is done to them: what is drawn is looked at in a browser.
const anything = () => new Proxy(() => {}, { get: (target, key) => (key in target ? target[key] : anything()), set: (target, key, value) => { target[key] = value; return true; }, apply: () => anything() });
globalThis.document = anything();
globalThis.sessionStorage = { getItem: () => null, setItem() {} };
globalThis.ResizeObserver = class { observe() {} disconnect() {} };
const line = (to) => ({ from: 0, to, samples: { at: [] }, decisions: [] });

test('the timeline shows the newest answer, and of the hours that are chosen', async (t) => {
  const timeline = new Timeline(await live());
  t.after(() => timeline.end());
  (await asked('timeline')).answer(line(1));
  timeline.load();
  timeline.load();
  const older = await asked('timeline');
  (await asked('timeline')).answer(line(3));
  await settle();
  older.answer(line(2));
  await settle();
  assert.equal(timeline.data.to, 3);
  timeline.choose(1);
  const hour = await asked('timeline');
  timeline.choose(24);
  hour.answer(line(4));
  await settle();
  assert.equal(timeline.data.to, 3);
  (await asked('timeline')).answer(line(5));
  await settle();
  assert.equal(timeline.data.to, 5);
});

test('a slider that was let go of does nothing once somebody is back', async (t) => {
  const timeline = new Timeline(await live());
  t.after(() => timeline.end());
  (await asked('timeline')).answer({ ...line(100), from: 50 });
  await settle();
  timeline.range.value = '500';
  timeline.slide();
  timeline.goLive();
  await new Promise((done) => setTimeout(done, 120));
  assert.deepEqual(questions.map((question) => question.path), []);
  timeline.slide();
  await new Promise((done) => setTimeout(done, 120));
  assert.ok(questions[0].path.startsWith('state?at='), 'and if nobody is back it does');
});

test('an address that was typed is taken apart, whatever is in it', () => {
  assert.deepEqual(placeOf('#/why/pod/shop/web%2F1').rest, ['pod', 'shop', 'web/1']);
  assert.deepEqual(placeOf('#/why/pod/%').rest, ['pod', '%']);
  assert.deepEqual(placeOf('#/why/pod/50%25/%zz').rest, ['pod', '50%', '%zz']);
  assert.equal(placeOf('').page, '');
  assert.equal(placeOf('#/what-if?grow=g').query.get('grow'), 'g');
  assert.equal(placeOf('#/what-if?grow=g').page, 'what-if');
});
