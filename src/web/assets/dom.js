// Small things that every page needs: elements, amounts and times as people write them, asking the server.

export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null) continue;
    if (key.startsWith('aria-')) { node.setAttribute(key, String(value)); continue; }
    if (value === false) continue;
    if (key === 'class') node.className = value;
    else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'vars') for (const [name, v] of Object.entries(value)) node.style.setProperty('--' + name, v);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const svgSpace = 'http://www.w3.org/2000/svg';
export function s(tag, props, ...children) {
  const node = document.createElementNS(svgSpace, tag);
  for (const [key, value] of Object.entries(props || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// "#/why/pod/shop%2Fweb?x=1" taken apart. Who types it may have no idea of percent signs: what cannot be decoded is meant as it stands.
const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
export function placeOf(hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/');
  return { page, rest: rest.map(decoded), query: new URLSearchParams(query || '') };
}

export const byId = (id) => document.getElementById(id);
// Only what differs is touched: a page that is told four times a second must not lay itself out as often.
export function setText(node, text) { if (node.textContent !== text) node.textContent = text; }
export function setClass(node, name) { if (node.className !== name) node.className = name; }

export class Problem extends Error {
  constructor(status, text) { super(text); this.status = status; }
}
export async function ask(path, body) {
  const options = body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch('/api/v1/' + path, { credentials: 'same-origin', ...options });
  const text = await answer.text();
  let json = null;
  try { json = JSON.parse(text); } catch (problem) { if (answer.ok) throw new Problem(answer.status, 'the server\u2019s answer to ' + path.split('?')[0] + ' cannot be read: ' + problem.message); }
  if (!answer.ok) throw new Problem(answer.status, (json && json.error) || 'the server answers with ' + answer.status);
  return json;
}

export const plural = (n, one, many) => n + ' ' + (n === 1 ? one : many || one + 's');
export function cpu(millis) { return millis % 1000 === 0 ? String(millis / 1000) : millis < 1000 ? millis + 'm' : String(Math.round(millis / 100) / 10); }
export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return (n >= 100 || Number.isInteger(n) ? Math.round(n) : Math.round(n * 10) / 10) + ' ' + units[i];
}
export function amount(resource, n) {
  if (resource === 'cpu') return cpu(n);
  return /memory|storage|hugepages/.test(resource) ? bytes(n) : String(n);
}
export function span(seconds) {
  seconds = Math.max(0, Math.round(seconds));
  if (seconds < 100) return seconds + ' s';
  if (seconds < 100 * 60) return Math.round(seconds / 60) + ' min';
  if (seconds < 48 * 3600) return Math.round(seconds / 360) / 10 + ' h';
  return Math.round(seconds / 86400) + ' days';
}
const two = (n) => String(n).padStart(2, '0');
export function clock(at, withSeconds) {
  const d = new Date(at * 1000);
  return two(d.getUTCHours()) + ':' + two(d.getUTCMinutes()) + (withSeconds ? ':' + two(d.getUTCSeconds()) : '');
}
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
export function when(at) { const d = new Date(at * 1000); return days[d.getUTCDay()] + ' ' + clock(at, true); }
export function money(n) { return n >= 1000 ? String(Math.round(n)) : n.toFixed(2); }

// One tooltip for all; what it says is also in the label of what it belongs to.
export function tips(root) {
  const tip = byId('tip');
  const show = (event) => {
    const target = event.target.closest('[data-tip]');
    if (!target) { tip.hidden = true; return; }
    setText(tip, target.dataset.tip);
    tip.hidden = false;
    const box = target.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 8;
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(above > 8 ? above : box.bottom + 8)}px)`;
  };
  root.addEventListener('pointerover', show);
  root.addEventListener('focusin', show);
  root.addEventListener('pointerleave', () => { tip.hidden = true; });
  root.addEventListener('focusout', () => { tip.hidden = true; });
}
export function say(text) { setText(byId('said'), text); }
