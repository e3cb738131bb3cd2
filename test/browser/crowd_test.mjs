// Two thousand nodes and twenty thousand pods, four looks a second; then eight hours of events in a minute: crowd_test.mjs WEB_CROWD
import { browse, check, each, start, until } from './lib.mjs';

const browser = await browse();

async function open(args) {
  const server = start(process.argv[2], args);
  const url = await server.url;
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
  const client = await page.context().newCDPSession(page);
  await page.goto(url + '/');
  await until(async () => (await page.locator('.tile').count()) >= 2000, '2,000 tiles');
  return { server, url, page, client };
}

// What an event stream brings, counted until the function that this gives is called.
function listen(url) {
  const stop = new AbortController();
  const began = Date.now();
  let bytes = 0;
  let deltas = 0;
  const reading = (async () => {
    const answer = await fetch(url, { signal: stop.signal });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body) { bytes += chunk.length; deltas += (decoder.decode(chunk, { stream: true }).match(/^event: delta/gm) || []).length; }
    } catch { /* stopped */ }
  })();
  return async () => { const seconds = (Date.now() - began) / 1000; stop.abort(); await reading; return { bytes, deltas, seconds }; };
}

await each([
  ['2,000 nodes and 20,000 pods stay smooth', async () => {
    const { server, url, page } = await open(['2000', '20000', '4', '1']);
    const stream = listen(url + '/api/v1/events?since=' + (await (await page.request.get(url + '/api/v1/state')).json()).seq);
    const frames = await page.evaluate(() => new Promise((done) => {
      const times = [];
      let last = performance.now();
      const end = last + 8000;
      const tick = (now) => { times.push(now - last); last = now; if (now < end) requestAnimationFrame(tick); else done(times); };
      requestAnimationFrame(tick);
    }));
    frames.sort((a, b) => a - b);
    const at = (share) => frames[Math.floor(frames.length * share)];
    const whole = (await (await page.request.get(url + '/api/v1/state')).body()).length;
    const { bytes, deltas, seconds } = await stream();
    console.log(`      the stream: ${deltas} deltas in ${seconds.toFixed(1)} s, ${Math.round(bytes / deltas / 100) / 10} kB each, ${Math.round(bytes / seconds / 1000)} kB a second`);
    check(deltas >= 3 * seconds, 'deltas are missing');
    check(bytes / deltas < whole / 10, 'a delta is a tenth of the state or more, where a twentieth of the nodes has changed');
    console.log(`      ${frames.length} frames in 8 s: median ${at(0.5).toFixed(1)} ms, 95% ${at(0.95).toFixed(1)} ms, worst ${frames.at(-1).toFixed(1)} ms; the state has ${Math.round(whole / 1000)} kB`);
    check(at(0.5) < 34, 'half of the frames take more than 34 ms');
    check(at(0.95) < 50, 'one frame in twenty takes more than 50 ms');
    await page.close();
    await server.stop();
  }],
  ['eight hours of events in a minute do not grow the page', async () => {
    // 20 looks a second, each 24 s of the cluster's time.
    const { server, url, page, client } = await open(['2000', '20000', '20', '24']);
    const used = async () => {
      await client.send('HeapProfiler.collectGarbage');
      return (await client.send('Runtime.getHeapUsage')).usedSize;
    };
    await page.waitForTimeout(10_000);
    const before = await used();
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    // A minute of it, on every page.
    const shapes = Object.values((await (await page.request.get(url + '/api/v1/state')).json()).pending);
    const newest = async (kind) => (await (await page.request.get(url + '/api/v1/decisions?limit=1000')).json()).decisions.find((d) => d.kind === kind);
    const stuck = shapes.find((shape) => shape.verdict === 'unhelped');
    check(stuck, 'nobody waits for nothing');
    const places = ['why', 'why/node/node-7', 'why/group/group-3', 'why/pod/' + stuck.namespace + '/' + stuck.pods[0], 'what-if', 'health', 'now'];
    for (const kind of ['up', 'down', 'waits']) { const one = await newest(kind); check(one, 'no decision: ' + kind); places.push('why/decision/' + one.id); }
    const end = Date.now() + 60_000;
    for (let i = 0; Date.now() < end; i++) {
      await page.goto(url + '/#/' + places[i % places.length]);
      await until(async () => (await page.locator('main h1').first().count()) > 0, 'page ' + places[i % places.length]);
      await page.waitForTimeout(2500);
    }
    await page.goto(url + '/#/now');
    await until(async () => (await page.locator('.tile').count()) >= 2000, '2,000 tiles');
    const feed = await until(async () => { const n = await page.locator('.feed li').count(); return n > 50 && n; }, 'a full feed');
    check(feed <= 100, `${feed} decisions in the feed`);
    await until(async () => (await page.locator('.chart .mark').count()) > 0, 'the marks');
    const marks = {};
    for (const kind of ['up', 'down', 'waits']) marks[kind] = await page.locator('.chart .mark.' + kind).count();
    check(Object.values(marks).every((n) => n > 3), 'marks on the timeline: ' + JSON.stringify(marks));
    const known = (await (await page.request.get(url + '/api/v1/decisions?limit=1000')).json()).decisions.length;
    console.log(`      ${known} decisions known, ${feed} in the feed, marks ${JSON.stringify(marks)}`);
    await page.waitForTimeout(2000);
    const after = await used();
    const later = await page.evaluate(() => document.querySelectorAll('*').length);
    console.log(`      heap ${(before / 1e6).toFixed(1)} MB, a minute later ${(after / 1e6).toFixed(1)} MB; ${elements} elements, then ${later}`);
    check(after < before * 1.25 + 2e6, 'the heap has grown');
    check(later < elements * 1.2 + 200, 'the page has grown');
    await page.close();
    await server.stop();
  }],
]);
await browser.close();
process.exit(); // also when a server was left behind by a test that failed
