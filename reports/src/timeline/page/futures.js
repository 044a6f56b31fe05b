
// The row of futures: the run repeated up to each of some moments, drawn anew from there, and how many of these fail.
const FUTURES = $("futures") && !TWO ? JSON.parse($("futures").textContent) : null;
function drawFutures(ctx, row) {
  const { moments, drawn } = FUTURES, top = row.y + (view.phone ? 22 : 8), bottom = row.y + row.h - 7, Y = n => bottom - n / drawn * (bottom - top);
  const line = () => { ctx.beginPath(); moments.forEach(([t, n], i) => i ? ctx.lineTo(X(t), Y(n)) : ctx.moveTo(X(t), Y(n))); };
  line();
  ctx.lineTo(X(moments.at(-1)[0]), bottom);
  ctx.lineTo(X(moments[0][0]), bottom);
  ctx.closePath();
  ctx.fillStyle = ink.bad;
  ctx.globalAlpha = .16;
  ctx.fill();
  ctx.globalAlpha = 1;
  line();
  ctx.strokeStyle = ink.bad;
  ctx.lineWidth = 2;
  ctx.stroke();
  let right = -1e9;
  ctx.fillStyle = ink.bad;
  moments.forEach(([t, n], i) => {
    const x = X(t);
    ctx.beginPath();
    ctx.arc(x, Y(n), 2.5, 0, 7);
    ctx.fill();
    const words = share(n), w = widthOf(ctx, words, 11);
    if (x < view.gutter - 1 || x + 6 + w > view.width - view.right || x < right + 8 || n === moments[i - 1]?.[1]) return;
    text(ctx, words, x + 6, Math.max(top + 5, Math.min(bottom - 5, Y(n) + (n > drawn / 2 ? 10 : -9))), { size: 11, fill: ink.bad });
    ctx.fillStyle = ink.bad;
    right = x + 6 + w;
  });
}
const share = n => `${+(100 * n / FUTURES.drawn).toFixed(1)} %`;
/// The moment nearest to `t`, in words.
function futuresWords(t) {
  const [near, n] = FUTURES.moments.reduce((a, b) => Math.abs(b[0] - t) < Math.abs(a[0] - t) ? b : a);
  return `<b>drawn anew from ${at(near)} on</b><br>${n} of ${FUTURES.drawn} futures fail this way<br>${escape(FUTURES.words)}`;
}
