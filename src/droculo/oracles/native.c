/* The active-set oracle between two answers of the linear oracle, for a batch of agents.

   What `_judge` and `_walk` (active_set.py) do, and `nearest` (nearest.py): the same decisions in the same order, explained
   there. XLA runs those loops at a tenth of the machine's speed: small arrays, many short programs, and all agents
   iterate as long as the slowest. Here every agent has its own loop. Products with whole matrices are avoided where a
   change by an outer product tells what becomes of them. native.py compiles this, with REAL = double and with REAL = float. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

typedef REAL real;
typedef uint8_t truth;

/* The memory of an agent: m places, d coordinates. */
typedef struct {
  int64_t m, d;
  real *points, *gram; /* (m, d), (m, m) */
  truth *used;
  int32_t *age;
  real *weights, *inverse; /* (m), (m, m) */
} Memory;

static real dot(const real *restrict a, const real *restrict b, int64_t n) {
  real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static real total(const real *restrict a, int64_t n) {
  real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += a[i];
  return sum;
}

/* to += scale * row */
static void add(real *restrict to, real scale, const real *restrict row, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; i++) to[i] += scale * row[i];
}

/* out = sum of v[j] * row j over the rows of a matrix with n columns whose v is not zero. Four rows at a time, because
   every pass goes through all of `out`. */
static void combine(real *restrict out, const real *restrict v, const real *restrict matrix, int64_t rows, int64_t n) {
  int64_t which[4], found, j = 0;
  memset(out, 0, n * sizeof(real));
  for (;;) {
    for (found = 0; j < rows && found < 4; j++) {
      which[found] = j;
      found += v[j] != 0;
    }
    if (found < 4) break;
    const real *a = matrix + which[0] * n, *b = matrix + which[1] * n, *c = matrix + which[2] * n,
               *d = matrix + which[3] * n;
    const real p = v[which[0]], q = v[which[1]], r = v[which[2]], s = v[which[3]];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]);
  }
  for (int64_t k = 0; k < found; k++) add(out, v[which[k]], matrix + which[k] * n, n);
}

static void set_row(real *gram, int64_t place, const real *products, int64_t m) {
  memcpy(gram + place * m, products, m * sizeof(real));
  for (int64_t j = 0; j < m; j++) gram[j * m + place] = products[j];
}

/* Insert v in place of the least recently used point; if all have weight, merge the two of least weight. */
static void remember(Memory a, const real *v, real unit, real *scratch) {
  int64_t m = a.m, d = a.d, place = 0, successor = -1;
  real least = INFINITY;
  for (int64_t i = 0; i < m; i++) {
    real w = a.weights[i];
    real rank = !a.used[i] ? 0 : w > 0 ? 1 + w : 1 / (real)(2 + a.age[i]);
    if (rank < least) least = rank, place = i;
  }
  if (a.weights[place] > 0) {
    for (int64_t i = 0; i < m; i++)
      if (i != place && a.weights[i] > 0 && (successor < 0 || a.weights[i] < a.weights[successor])) successor = i;
    real together = a.weights[place] + a.weights[successor];
    real first = a.weights[place] / together, second = a.weights[successor] / together;
    real *mine = a.points + place * d, *its = a.points + successor * d;
    for (int64_t k = 0; k < d; k++) its[k] = first * mine[k] + second * its[k];
    for (int64_t j = 0; j < m; j++) scratch[j] = first * a.gram[place * m + j] + second * a.gram[successor * m + j];
    scratch[successor] = first * scratch[place] + second * scratch[successor];
    set_row(a.gram, successor, scratch, m);
    a.weights[successor] = together;
    memset(a.inverse, 0, m * m * sizeof(real));
  } else if (a.inverse[place * m + place] > 0) {
    memset(a.inverse, 0, m * m * sizeof(real));
  }
  memcpy(a.points + place * d, v, d * sizeof(real));
  for (int64_t j = 0; j < m; j++) scratch[j] = dot(a.points + j * d, v, d) + unit;
  set_row(a.gram, place, scratch, m);
  a.used[place] = 1;
  a.age[place] = 0;
  a.weights[place] = 0;
}

/* Keep x alone: points that differ by rounding only make the Gram matrix singular. */
static void forget(Memory a, const real *x, real unit, real *scratch) {
  int64_t m = a.m, d = a.d;
  memcpy(a.points, x, d * sizeof(real));
  for (int64_t j = 0; j < m; j++) scratch[j] = dot(a.points + j * d, x, d) + unit;
  set_row(a.gram, 0, scratch, m);
  for (int64_t j = 0; j < m; j++) a.used[j] = j == 0, a.age[j] = 0, a.weights[j] = j == 0;
  memset(a.inverse, 0, m * m * sizeof(real));
}

/* The state of `nearest` besides the memory. */
typedef struct {
  real *slope, *flat, *free; /* target - gram @ w; the inverse's row sums; inverse @ slope */
  real *known;               /* 1 for points of the support, else 0 */
  real *aim, *scratch;
} Walk;

/* Point `place` joins the support or leaves it. Returns 0 if the inverse cannot be right afterwards. */
static int swap(Memory a, Walk s, int64_t place, int joins, real ridge) {
  int64_t m = a.m;
  real *q = s.scratch, *H = a.inverse, scale, most = 0;
  if (joins) {
    const real *column = a.gram + place * m;
    for (int64_t i = 0; i < m; i++) s.aim[i] = s.known[i] * column[i];
    combine(q, s.aim, H, m, m);
    real rest = column[place] + ridge - dot(column, q, m);
    scale = 1 / (rest > ridge ? rest : ridge);
    q[place] -= 1;
  } else {
    memcpy(q, H + place * m, m * sizeof(real));
    scale = -1 / (q[place] > 0 ? q[place] : 1);
  }
  for (int64_t i = 0; i < m; i++)
    if (q[i] != 0) add(H + i * m, scale * q[i], q, m);
  add(s.flat, scale * total(q, m), q, m);
  add(s.free, scale * dot(q, s.slope, m), q, m);
  for (int64_t i = 0; i < m; i++)
    if (!(q[i] * q[i] <= most)) most = q[i] * q[i];
  s.known[place] = joins;
  if (!joins) {
    for (int64_t i = 0; i < m; i++) H[i * m + place] = H[place * m + i] = 0;
    s.flat[place] = s.free[place] = 0;
  }
  return most * fabs(scale) <= 100 / ridge;
}

/* Compute inverse @ slope again, which `swap` keeps up to date. */
static void refresh(Memory a, Walk s) {
  for (int64_t i = 0; i < a.m; i++) s.aim[i] = s.known[i] * s.slope[i];
  combine(s.free, s.aim, a.inverse, a.m, a.m);
}

/* The same for all that `swap` keeps up to date. Returns 1 if a point with weight is missing from the inverse. */
static int renew(Memory a, Walk s) {
  int missing = 0;
  for (int64_t i = 0; i < a.m; i++) {
    int known = a.inverse[i * a.m + i] > 0;
    s.known[i] = known;
    missing |= a.weights[i] > 0 && !known;
  }
  combine(s.flat, s.known, a.inverse, a.m, a.m);
  refresh(a, s);
  return missing;
}

static void find_slope(Memory a, Walk s, const real *target) {
  combine(s.slope, a.weights, a.gram, a.m, a.m);
  for (int64_t i = 0; i < a.m; i++) s.slope[i] = target[i] - s.slope[i];
}

/* w + step * aim, with negative entries (from rounding) and `gone` set to zero, scaled to sum one. Returns 0 if it cannot be. */
static int move(real *restrict w, real step, const real *restrict aim, int64_t gone, real *restrict moved, int64_t m) {
#pragma omp simd
  for (int64_t i = 0; i < m; i++) {
    real to = w[i] + step * aim[i];
    moved[i] = to < 0 ? 0 : to;
  }
  if (gone >= 0) moved[gone] = 0;
  real sum = total(moved, m);
  if (!(fabs(sum - 1) < 0.5)) return 0;
  for (int64_t i = 0; i < m; i++) w[i] = moved[i] / sum;
  return 1;
}

/* The decrease of half the squared distance to y between two weight vectors, each with its slope. */
static real fell(const real *restrict now, const real *restrict before, const real *restrict slope,
                 const real *restrict then, real mean, int64_t m) {
  real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < m; i++) sum += (now[i] - before[i]) * (slope[i] + then[i] - 2 * mean);
  return sum / 2;
}

/* Wolfe's method: weights of the point of the hull that is nearest to y, where target = points @ y. */
static void nearest(Memory a, const real *target, real floor_, real ridge, real enough, real *scratch) {
  int64_t m = a.m;
  real *w = a.weights, *H = a.inverse, drop = INFINITY;
  Walk s = {scratch, scratch + m, scratch + 2 * m, scratch + 3 * m, scratch + 4 * m, scratch + 5 * m};
  real *before = scratch + 6 * m, *slope = scratch + 7 * m;
  int fresh = 0;
  find_slope(a, s, target);
  int missing = renew(a, s);
  for (int64_t steps = 1;; steps++) {
    int64_t unknown = -1, blocker = -1, newcomer = -1;
    memcpy(before, w, m * sizeof(real));
    memcpy(slope, s.slope, m * sizeof(real));
    int leaves = 0, beyond = 0, falls = 0, again = 0, sound = 1;
    for (int64_t i = 0; missing && i < m && unknown < 0; i++)
      if (w[i] > 0 && s.known[i] == 0) unknown = i;
    if (unknown < 0) {
      real mass = total(s.flat, m), level = total(s.free, m) / (mass > 0 ? mass : 1), least = INFINITY;
      for (int64_t i = 0; i < m; i++) s.aim[i] = s.free[i] - level * s.flat[i];
      for (int64_t i = 0; i < m; i++)
        if (w[i] + s.aim[i] < 0 && s.known[i] != 0 && -w[i] / s.aim[i] < least) least = -w[i] / s.aim[i], blocker = i;
      leaves = least < 1;
      real step = leaves ? least : 1;
      int moved = move(w, step, s.aim, leaves ? blocker : -1, s.scratch, m);
      if (leaves && !moved) { /* it leaves with its weight, and is added again later */
        find_slope(a, s, target);
        refresh(a, s);
        missing = 1;
      } else if (leaves) {
        /* gram @ aim is slope - level on the support, and the inverse takes it back to aim. */
        for (int64_t i = 0; i < m; i++) s.slope[i] -= step * s.known[i] * (s.slope[i] - level);
        add(s.free, -step, s.aim, m);
      }
    } else {
      move(w, 0, s.flat, -1, s.scratch, m);
    }
    int whole = unknown < 0 && !leaves;
    if (!leaves) find_slope(a, s, target);
    real mean = dot(w, s.slope, m), value = -(dot(w, target, m) + mean) / 2;
    /* Not a difference of two values: a small gain changes the value by its square, which rounding would hide. */
    drop += fell(w, before, s.slope, slope, mean, m);
    if (whole) {
      real best = -INFINITY, most = -INFINITY;
      for (int64_t i = 0; i < m; i++)
        if (a.used[i] && s.slope[i] > most) most = s.slope[i];
      beyond = most - mean > floor_;
      for (int64_t i = 0; beyond && i < m; i++)
        if (a.used[i] && s.slope[i] - mean > floor_) { /* ties are not broken by rounding */
          real rank = floor((s.slope[i] - mean) / floor_);
          if (rank > best) best = rank, newcomer = i;
        }
      falls = drop > 0;
      again = beyond && falls;
      if (again) refresh(a, s);
    }
    int is_known = newcomer >= 0 && s.known[newcomer] != 0;
    if (unknown >= 0) sound = swap(a, s, unknown, 1, ridge);
    else if (leaves) sound = swap(a, s, blocker, 0, ridge);
    else if (again && !is_known) sound = swap(a, s, newcomer, 1, ridge);
    int worn = (beyond && !falls && is_known) || !sound;
    if (worn) memset(H, 0, m * m * sizeof(real));
    if ((worn && fresh) || (whole && !again && !worn) || steps >= 20 * m || !isfinite(value) || 2 * value <= enough)
      return;
    if (unknown >= 0 || worn) {
      find_slope(a, s, target);
      missing = renew(a, s);
    }
    if (whole) drop = 0;
    fresh |= worn;
  }
}

/* The direction y - x without its last digits; returns the length of what was removed. */
static real coarse(real *out, const real *y, const real *x, int64_t d) {
  real most = 0, lost = 0;
  for (int64_t k = 0; k < d; k++) {
    out[k] = y[k] - x[k];
    if (!(fabs(out[k]) <= most)) most = fabs(out[k]);
  }
  real unit = most * (real)sqrt(sizeof(real) == sizeof(double) ? DBL_EPSILON : FLT_EPSILON) / 16;
  for (int64_t k = 0; k < d; k++) {
    real rounded = floor(out[k] / (unit > 0 ? unit : 1) + (real)0.5) * unit;
    lost += (out[k] - rounded) * (out[k] - rounded);
    out[k] = rounded;
  }
  return sqrt(lost);
}

/* Everything of `Search`, in its order, then `Task` and the answers. */
enum { POINTS, GRAM, USED, AGE, WEIGHTS, INVERSE, X, Y, DIRECTION, LOST, HEIGHT, LOW, CALLS, DONE, STATE };
enum { EPS = STATE, CAP, UNIT, FLOOR, RIDGE, REACH, ANSWER, GIVEN };

/* True if XLA only asks for the version of this interface. */
static int introduced(XLA_FFI_CallFrame *frame) {
  __typeof__(frame->extension_start) extension = frame->extension_start; /* its type has had several names */
  if (extension == NULL || extension->type != XLA_FFI_Extension_Metadata) return 0;
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  return 1;
}

XLA_FFI_Error *droculo_once(XLA_FFI_CallFrame *frame) {
  if (introduced(frame)) return NULL;
  XLA_FFI_Buffer *in = frame->args.args[0], *out = frame->rets.rets[0];
  size_t size = sizeof(real);
  for (int64_t i = 0; i < in->rank; i++) size *= in->dims[i];
  if (in->data != out->data) memcpy(out->data, in->data, size);
  return NULL;
}

XLA_FFI_Error *droculo_step(XLA_FFI_CallFrame *frame) {
  if (introduced(frame)) return NULL;
  void *in[GIVEN], *out[STATE];
  for (int i = 0; i < GIVEN; i++) in[i] = ((XLA_FFI_Buffer *)frame->args.args[i])->data;
  for (int i = 0; i < STATE; i++) out[i] = ((XLA_FFI_Buffer *)frame->rets.rets[i])->data;
  const XLA_FFI_Buffer *points = frame->args.args[POINTS];
  int64_t m = points->dims[points->rank - 2], d = points->dims[points->rank - 1], agents = 1;
  for (int64_t i = 0; i < points->rank - 2; i++) agents *= points->dims[i];
  const size_t r = sizeof(real), i4 = sizeof(int32_t);
  const size_t size[STATE] = {m * d * r, m * m * r, m, m * i4, m * r, m * m * r, d * r, d * r, d * r, r, r, r, i4, 1};
  for (int i = 0; i < STATE; i++)
    if (in[i] != out[i]) memcpy(out[i], in[i], agents * size[i]);
  real *target = malloc(9 * m * r);
  if (target == NULL) {
    XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
                                      .message = "no memory left",
                                      .errc = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};
    return frame->api->XLA_FFI_Error_Create(&args);
  }
#define OF(what) (((real *)out[what])[i])
#define GIVEN_TO(what) (((real *)in[what])[i])
  for (int64_t i = 0; i < agents; i++) {
    truth *done = (truth *)out[DONE] + i;
    if (*done) continue;
    Memory a = {m, d, (real *)out[POINTS] + i * m * d, (real *)out[GRAM] + i * m * m, (truth *)out[USED] + i * m,
                (int32_t *)out[AGE] + i * m, (real *)out[WEIGHTS] + i * m, (real *)out[INVERSE] + i * m * m};
    real *x = (real *)out[X] + i * d, *y = (real *)out[Y] + i * d, *direction = (real *)out[DIRECTION] + i * d;
    const real *v = (real *)in[ANSWER] + i * d, eps = GIVEN_TO(EPS), height = OF(HEIGHT);
    int32_t *calls = (int32_t *)out[CALLS] + i;
    if (*calls > 0) { /* judge the answer */
      real gap = OF(LOST) * GIVEN_TO(REACH);
      for (int64_t k = 0; k < d; k++) gap += direction[k] * (v[k] - x[k]);
      int stuck = gap > eps && !(height < OF(LOW));
      if (!(gap > eps) || stuck || *calls >= GIVEN_TO(CAP)) {
        if (stuck) forget(a, x, GIVEN_TO(UNIT), target);
        real left = (gap < 0 ? 0 : gap > height ? height : gap) / height;
        for (int64_t k = 0; k < d; k++) y[k] = x[k] + left * (y[k] - x[k]);
        memset(direction, 0, d * r);
        *done = 1;
        continue;
      }
      OF(LOW) = height;
      remember(a, v, GIVEN_TO(UNIT), target);
    }
    for (int64_t j = 0; j < m; j++) target[j] = dot(a.points + j * d, y, d);
    real enough = 3 * eps + GIVEN_TO(UNIT) - dot(y, y, d);
    nearest(a, target, GIVEN_TO(FLOOR), GIVEN_TO(RIDGE), enough, target + m);
    combine(x, a.weights, a.points, m, d);
    real far = 0;
    for (int64_t k = 0; k < d; k++) far += (y[k] - x[k]) * (y[k] - x[k]);
    OF(HEIGHT) = far;
    if (far <= 3 * eps || !isfinite(far)) {
      memset(direction, 0, d * r);
      *done = 1;
    } else {
      OF(LOST) = coarse(direction, y, x, d);
      *calls += 1;
    }
  }
  free(target);
  return NULL;
}
