// A penalised quadratic given by a factor of its curvature, never by its Gram matrix:
//
//     minimise over p   g'(p - w) + ||A (p - w)||^2 / 2 + (p - w)' D (p - w) / 2 + R(p)
//
// where A is diag(h)^(1/2) X_W, without the rows with h_i = 0, and D is diagonal. A step on a
// coordinate costs two passes over its column, with s = A (p - w) kept up to date.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "maths/losses.hpp"
#include "data/matrix.hpp"
#include "methods/quadratic.hpp"
#include "maths/small_system.hpp"

namespace skpd {

// Columns of a matrix times one scale, or copies of their own.
struct DenseColumns {
    std::size_t n_rows = 0;
    double scale = 1.0;
    std::vector<const double*> starts{};
    std::vector<std::unique_ptr<double[]>> copies{};

    // A place for the entries of so many more columns
    double* add(std::size_t count) {
        copies.push_back(std::make_unique_for_overwrite<double[]>(count * n_rows));
        double* begin = copies.back().get();
        for (std::size_t a = 0; a < count; ++a) starts.push_back(begin + a * n_rows);
        return begin;
    }
    std::size_t n_entries() const { return starts.size() * n_rows; }
    double dot(std::size_t a, const double* v) const { return scale * dense_dot(starts[a], v, n_rows); }
    double dot(std::size_t a, const double* v, std::size_t next) const {  // column next comes after it
        return scale * dense_dot(starts[a], v, n_rows, starts[next]);
    }
    void axpy(std::size_t a, double x, double* out) const { dense_axpy(scale * x, starts[a], out, n_rows); }
    // out[k] = column some[k] . v
    void dots(const std::vector<std::size_t>& some, const double* v, double* out) const {
        std::size_t k = 0;
        for (; k + together <= some.size(); k += together) {
            dense_dots(four(some, k), v, n_rows, out + k);
            for (std::size_t i = k; i < k + together; ++i) out[i] *= scale;
        }
        for (; k < some.size(); ++k) out[k] = dot(some[k], v);
    }
    // out += sum_k x[k] column some[k]
    void add(const std::vector<std::size_t>& some, const double* x, double* out) const {
        std::size_t k = 0;
        for (; k + together <= some.size(); k += together)
            dense_axpys({scale * x[k], scale * x[k + 1], scale * x[k + 2], scale * x[k + 3]}, four(some, k), out, n_rows);
        for (; k < some.size(); ++k) axpy(some[k], x[k], out);
    }
    Four<double> four(const std::vector<std::size_t>& some, std::size_t k) const {
        return {starts[some[k]], starts[some[k + 1]], starts[some[k + 2]], starts[some[k + 3]]};
    }
    double square(std::size_t a) const { return scale * dot(a, starts[a]); }
    template <class Visit>
    void for_each(std::size_t a, Visit visit) const {
        for (std::size_t t = 0; t < n_rows; ++t) visit(t, scale * starts[a][t]);
    }
};

struct SparseColumns {
    std::size_t n_rows = 0;
    std::vector<std::size_t> starts{0};
    std::vector<std::uint32_t> places;
    std::vector<double> entries;

    std::size_t n_entries() const { return entries.size(); }
    double dot(std::size_t a, const double* v) const {
        double even = 0.0, odd = 0.0;  // two chains, so that additions overlap
        std::size_t p = starts[a];
        const std::size_t end = starts[a + 1];
        for (; p + 1 < end; p += 2) {
            even += entries[p] * v[places[p]];
            odd += entries[p + 1] * v[places[p + 1]];
        }
        if (p < end) even += entries[p] * v[places[p]];
        return even + odd;
    }
    double dot(std::size_t a, const double* v, std::size_t) const { return dot(a, v); }
    void axpy(std::size_t a, double x, double* out) const {
        for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) out[places[p]] += x * entries[p];
    }
    void dots(const std::vector<std::size_t>& some, const double* v, double* out) const {
        for (std::size_t k = 0; k < some.size(); ++k) out[k] = dot(some[k], v);
    }
    void add(const std::vector<std::size_t>& some, const double* x, double* out) const {
        for (std::size_t k = 0; k < some.size(); ++k)
            if (x[k] != 0.0) axpy(some[k], x[k], out);
    }
    double square(std::size_t a) const {
        double sum = 0.0;
        for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) sum += entries[p] * entries[p];
        return sum;
    }
    template <class Visit>
    void for_each(std::size_t a, Visit visit) const {
        for (std::size_t p = starts[a]; p < starts[a + 1]; ++p) visit(places[p], entries[p]);
    }
};

// Columns of diag(h)^(1/2) X, more of them as they are asked for, and of h^(1/2) if wanted. Those of a
// dense matrix by columns are not copied where the h_i are equal.
class ScaledColumns {
   public:
    ScaledColumns(ScaledColumns&&) = default;
    template <class M>
    ScaledColumns(const M&, bool by_row, std::size_t n_rows, const double* h, bool ones)
        : n_samples_(n_rows),
          borrows_(std::is_same_v<M, Dense<double>> && !by_row && n_rows > 0 && h[0] > 0.0 &&
                   std::all_of(h, h + n_rows, [&](double x) { return x == h[0]; })) {
        for (std::size_t i = 0; i < n_rows; ++i) {
            if (!(h[i] > 0.0)) continue;
            rows_.push_back(i);
            scale_.push_back(borrows_ ? 1.0 : std::sqrt(h[i]));
        }
        if constexpr (is_dense<M>) {
            auto& columns = columns_.emplace<DenseColumns>(rows_.size());
            if (borrows_) columns.scale = std::sqrt(h[0]);
            if (ones) std::copy(scale_.begin(), scale_.end(), columns.add(1));
        } else {
            auto& columns = columns_.emplace<SparseColumns>(rows_.size());
            if (ones) {
                columns.entries = scale_;
                columns.starts.push_back(rows_.size());
                for (std::size_t t = 0; t < rows_.size(); ++t) columns.places.push_back(static_cast<std::uint32_t>(t));
            }
        }
        if (ones) measure(1);
    }

    // Puts columns of the matrix behind those at hand.
    template <class T>
    void append(const Dense<T>& matrix, bool by_row, std::size_t, std::size_t, const std::int64_t* wanted,
                std::size_t n_wanted) {
        auto& columns = std::get<DenseColumns>(columns_);
        const std::size_t c = rows_.size();
        if constexpr (std::is_same_v<T, double>) {
            if (borrows_) {
                for (std::size_t a = 0; a < n_wanted; ++a)
                    columns.starts.push_back(matrix.major(static_cast<std::size_t>(wanted[a])));
                return measure(n_wanted);
            }
        }
        double* begin = columns.add(n_wanted);
        if (by_row) {
            constexpr std::size_t tile = 128;  // columns at a time: as many pages are written to
            for (std::size_t first = 0; first < n_wanted; first += tile)
                for (std::size_t t = 0; t < c; ++t) {
                    const T* x = matrix.major(rows_[t]);
                    for (std::size_t a = first; a < std::min(first + tile, n_wanted); ++a)
                        begin[a * c + t] = scale_[t] * static_cast<double>(x[wanted[a]]);
                }
        } else {
            for (std::size_t a = 0; a < n_wanted; ++a) {
                const T* x = matrix.major(static_cast<std::size_t>(wanted[a]));
                ask_for(matrix.major(static_cast<std::size_t>(wanted[std::min(a + 1, n_wanted - 1)])), matrix.n_minor);
                if (c == n_samples_) {
                    for (std::size_t t = 0; t < c; ++t) begin[a * c + t] = scale_[t] * static_cast<double>(x[t]);
                } else {
                    for (std::size_t t = 0; t < c; ++t) begin[a * c + t] = scale_[t] * static_cast<double>(x[rows_[t]]);
                }
            }
        }
        measure(n_wanted);
    }
    template <class T, class I>
    void append(const Sparse<T, I>& matrix, bool by_row, std::size_t n_rows, std::size_t n_columns,
                const std::int64_t* wanted, std::size_t n_wanted) {
        auto& columns = std::get<SparseColumns>(columns_);
        constexpr auto none = static_cast<std::uint32_t>(-1);
        if (by_row) {
            std::vector<std::uint32_t> place_of(n_columns, none);
            for (std::size_t a = 0; a < n_wanted; ++a) place_of[static_cast<std::size_t>(wanted[a])] = static_cast<std::uint32_t>(a);
            std::size_t longest = 0;
            for (const std::size_t i : rows_) longest = std::max(longest, matrix.length(i));
            std::vector<std::uint32_t> met(longest);  // those wanted, of a row
            std::vector<double> values(longest);
            const auto meet = [&](std::size_t i) {  // without branches: they would be guesses
                std::size_t n_met = 0;
                matrix.for_each(i, [&](std::size_t j, double x) {
                    met[n_met] = place_of[j];
                    values[n_met] = x;
                    n_met += place_of[j] != none;
                });
                return n_met;
            };
            std::vector<std::size_t> next(n_wanted + 1, 0);
            for (const std::size_t i : rows_) {
                const std::size_t n_met = meet(i);
                for (std::size_t k = 0; k < n_met; ++k) ++next[met[k] + 1];
            }
            next[0] = columns.entries.size();
            for (std::size_t a = 0; a < n_wanted; ++a) {
                next[a + 1] += next[a];
                columns.starts.push_back(next[a + 1]);
            }
            columns.entries.resize(next[n_wanted]);
            columns.places.resize(next[n_wanted]);
            for (std::size_t t = 0; t < rows_.size(); ++t) {
                const std::size_t n_met = meet(rows_[t]);
                for (std::size_t k = 0; k < n_met; ++k) {
                    const std::size_t p = next[met[k]]++;
                    columns.entries[p] = scale_[t] * values[k];
                    columns.places[p] = static_cast<std::uint32_t>(t);
                }
            }
        } else {
            std::vector<std::uint32_t> place_of(n_rows, none);
            for (std::size_t t = 0; t < rows_.size(); ++t) place_of[rows_[t]] = static_cast<std::uint32_t>(t);
            for (std::size_t a = 0; a < n_wanted; ++a) {
                matrix.for_each(static_cast<std::size_t>(wanted[a]), [&](std::size_t i, double x) {
                    if (place_of[i] == none) return;
                    columns.entries.push_back(scale_[place_of[i]] * x);
                    columns.places.push_back(place_of[i]);
                });
                columns.starts.push_back(columns.entries.size());
            }
        }
        measure(n_wanted);
    }

    template <class Visit>
    decltype(auto) visit(Visit visit) const { return std::visit(visit, columns_); }
    bool fits(const AnyLayout& layout) const {
        return std::visit([&](const auto& of) { return is_dense<std::remove_cvref_t<decltype(of)>> == dense(); }, layout);
    }
    // out (n x n) = A_W' A_W over some columns
    void gram(const std::int64_t* places, std::size_t n, double* out) const {
        visit([&](const auto& columns) {
            std::vector<double> column(rows_.size());
            std::vector<std::size_t> until;
            for (std::size_t a = 0; a < n; ++a) {
                until.push_back(static_cast<std::size_t>(places[a]));
                columns.axpy(until[a], 1.0, column.data());
                columns.dots(until, column.data(), out + a * n);
                for (std::size_t b = 0; b < a; ++b) out[b * n + a] = out[a * n + b];
                columns.axpy(until[a], -1.0, column.data());
            }
        });
    }
    std::size_t n_samples() const { return n_samples_; }
    std::size_t n_rows() const { return rows_.size(); }
    std::size_t size() const { return squares_.size(); }
    const std::vector<double>& squares() const { return squares_; }  // ||A_a||^2
    bool dense() const { return std::holds_alternative<DenseColumns>(columns_); }
    std::size_t n_entries() const {
        return std::visit([](const auto& columns) { return columns.n_entries(); }, columns_);
    }

   private:
    template <class M>
    static constexpr bool is_dense = std::is_same_v<M, Dense<double>> || std::is_same_v<M, Dense<float>>;

    void measure(std::size_t n_new) {
        visit([&](const auto& columns) {
            for (std::size_t k = 0; k < n_new; ++k) {
                squares_.push_back(columns.square(squares_.size()));
            }
        });
    }

    std::size_t n_samples_;
    bool borrows_;                   // the columns of the matrix, which must outlive it
    std::vector<std::size_t> rows_;  // with h > 0
    std::vector<double> scale_;      // h^(1/2) there; 1 where the columns have one scale
    std::variant<DenseColumns, SparseColumns> columns_;
    std::vector<double> squares_;
};

// A penalty's derivatives on its support, where it is smooth: the first, and the second as
// diag(bend) - u bend u' in every part of the support that is a group.
struct Derivatives {
    std::vector<double> first, bend, unit;
    std::vector<std::size_t> starts;  // of the parts, and the end of the last

    explicit Derivatives(std::size_t k) : first(k, 0.0), bend(k, 0.0), unit(k, 0.0) {}

    double diagonal(std::size_t a) const { return bend[a] * std::max(1.0 - unit[a] * unit[a], 0.0); }
    void add_product(const double* d, double* out) const {
        for (std::size_t a = 0; a < bend.size(); ++a) out[a] += bend[a] * d[a];
        for (std::size_t part = 0; part + 1 < starts.size(); ++part) {
            double along = 0.0;
            for (std::size_t a = starts[part]; a < starts[part + 1]; ++a) along += unit[a] * d[a];
            for (std::size_t a = starts[part]; a < starts[part + 1]; ++a) out[a] -= bend[a] * along * unit[a];
        }
    }
};

// What follows takes a penalty on the coordinates before n_penalised; those behind are free.
// A coordinate that a step would take across its kink or its bound is held there.

struct SeparableCoordinates {
    SeparablePenalty penalty;
    std::size_t count;

    std::size_t n_penalised() const { return count; }

    std::vector<std::size_t> support(const double* p, std::size_t n) const {
        std::vector<std::size_t> out;
        for (std::size_t j = 0; j < n; ++j)
            if (j >= n_penalised() ||
                (p[j] > penalty.lower && p[j] < penalty.upper && (p[j] != 0.0 || penalty.l1 == 0.0)))
                out.push_back(j);
        return out;
    }
    Derivatives derivatives(const std::vector<std::size_t>& support, const double* p) const {
        Derivatives out(support.size());
        for (std::size_t a = 0; a < support.size() && support[a] < n_penalised(); ++a) {
            const double x = p[support[a]];
            out.first[a] = penalty.l2 * x + (x > 0.0 ? penalty.l1 : x < 0.0 ? -penalty.l1 : 0.0);
            out.bend[a] = penalty.l2;
        }
        return out;
    }
    double moved(std::size_t j, double from, double change) const {
        if (j >= n_penalised()) return from + change;
        const double to = from + change;
        return clip(penalty.l1 > 0.0 && to * from < 0.0 ? 0.0 : to, penalty.lower, penalty.upper);
    }
    double rise(const std::vector<std::size_t>& support, const double* p, const double* change) const {
        double sum = 0.0;
        for (std::size_t a = 0; a < support.size() && support[a] < n_penalised(); ++a) {
            const double from = p[support[a]], to = from + change[a];
            sum += penalty.l1 * (std::fabs(to) - std::fabs(from)) + 0.5 * penalty.l2 * change[a] * (to + from);
        }
        return sum;
    }
    double to_kink(std::size_t j, double from, double step) const {
        if (j >= n_penalised() || step == 0.0) return 1.0;
        double bound = step > 0.0 ? penalty.upper : penalty.lower;
        if (penalty.l1 > 0.0 && from * step < 0.0) bound = 0.0;
        return (bound - from) / step * (1.0 + 1e-15);
    }
};

// l1 ||p||_1 + sum_g weight_g ||p_g||_2 over groups side by side
struct GroupedCoordinates {
    double l1;
    const double* weights;
    const std::int64_t* starts;
    std::size_t n_groups;

    std::size_t first(std::size_t g) const { return static_cast<std::size_t>(starts[g]); }
    std::size_t n_penalised() const { return first(n_groups); }
    double norm(std::size_t g, const double* p) const {
        double square = 0.0;
        for (std::size_t j = first(g); j < first(g + 1); ++j) square += p[j] * p[j];
        return std::sqrt(square);
    }
    std::vector<std::size_t> support(const double* p, std::size_t n) const {
        std::vector<std::size_t> out;
        for (std::size_t g = 0; g < n_groups; ++g) {
            if (norm(g, p) == 0.0) continue;
            for (std::size_t j = first(g); j < first(g + 1); ++j)
                if (l1 == 0.0 || p[j] != 0.0) out.push_back(j);
        }
        for (std::size_t j = n_penalised(); j < n; ++j) out.push_back(j);
        return out;
    }
    // visit(g, begin, end) for the parts of the support that lie in one group
    template <class Visit>
    void for_each_group(const std::vector<std::size_t>& support, Visit visit) const {
        std::size_t a = 0;
        for (std::size_t g = 0; g < n_groups && a < support.size(); ++g) {
            const std::size_t begin = a;
            while (a < support.size() && support[a] < first(g + 1)) ++a;
            if (a > begin) visit(g, begin, a);
        }
    }
    // With u = p_g / ||p_g||: l1 sign(p) + weight u and (weight / ||p_g||) (I - u u')
    Derivatives derivatives(const std::vector<std::size_t>& support, const double* p) const {
        Derivatives out(support.size());
        for_each_group(support, [&](std::size_t g, std::size_t begin, std::size_t end) {
            const double size = norm(g, p);
            if (out.starts.empty()) out.starts.push_back(begin);
            out.starts.push_back(end);
            for (std::size_t a = begin; a < end; ++a) {
                const double x = p[support[a]];
                out.unit[a] = x / size;
                out.bend[a] = weights[g] / size;
                out.first[a] = weights[g] * out.unit[a] + (x > 0.0 ? l1 : x < 0.0 ? -l1 : 0.0);
            }
        });
        return out;
    }
    double moved(std::size_t j, double from, double change) const {
        const double to = from + change;
        return j < n_penalised() && l1 > 0.0 && to * from < 0.0 ? 0.0 : to;
    }
    double rise(const std::vector<std::size_t>& support, const double* p, const double* change) const {
        double sum = 0.0;
        for_each_group(support, [&](std::size_t g, std::size_t begin, std::size_t end) {
            double square = 0.0;
            for (std::size_t a = begin; a < end; ++a) {
                const double from = p[support[a]], to = from + change[a];
                square += to * to;
                sum += l1 * (std::fabs(to) - std::fabs(from));
            }
            sum += weights[g] * (std::sqrt(square) - norm(g, p));
        });
        return sum;
    }
    double to_kink(std::size_t, double, double) const { return 0.125; }
};

// The quadratic at a point p, with s = A (p - w) beside it.
template <class Columns>
struct ColumnQuadratic {
    const Columns& columns;
    const std::vector<double>& squares;
    const std::int64_t* places;  // of the coordinates among the columns
    std::size_t n;
    const double *g, *w, *ridge;  // ridge: the diagonal of D
    double *p, *s;
    std::function<void()> pause;                     // called between passes, may throw
    std::vector<double> blocks{}, bounds{};                // of the groups
    std::vector<double> slope{}, next{}, change{};         // of one
    static constexpr std::size_t combined = 5;             // sweeps, in an extrapolation

    std::size_t place(std::size_t j) const { return static_cast<std::size_t>(places[j]); }
    double curvature(std::size_t j) const { return squares[place(j)] + ridge[j]; }
    double gradient(std::size_t j) const { return g[j] + columns.dot(place(j), s, place(std::min(j + 1, n - 1))) + ridge[j] * (p[j] - w[j]); }

    // Moves coordinate j to a point; by how much that changes the gradient, by its curvature
    double move(std::size_t j, double to, double c) {
        const double change = to - p[j];
        if (change == 0.0) return 0.0;
        columns.axpy(place(j), change, s);
        p[j] = to;
        return std::fabs(change) * c;
    }
    double move_free(std::size_t j) {
        const double c = curvature(j);
        return c > 0.0 ? move(j, p[j] - gradient(j) / c, c) : 0.0;
    }

    double sweep(const SeparableCoordinates& r) {
        double largest = 0.0;
        for (std::size_t j = 0; j < r.n_penalised(); ++j) {
            const double c = curvature(j);
            if (c + r.penalty.l2 > 0.0)
                largest = std::max(largest, move(j, r.penalty.minimiser(c, c * p[j] - gradient(j)), c + r.penalty.l2));
        }
        for (std::size_t j = r.n_penalised(); j < n; ++j) largest = std::max(largest, move_free(j));
        return largest;
    }

    double sweep(const GroupedCoordinates& r) {
        double largest = 0.0;
        std::size_t block = 0;
        for (std::size_t b = 0; b < r.n_groups; ++b) {
            const std::size_t first = r.first(b), size = r.first(b + 1) - first;
            if (bounds[b] > 0.0) {
                for (std::size_t a = 0; a < size; ++a) slope[a] = gradient(first + a);
                minimise_on_group(blocks.data() + block, size, size, bounds[b], slope.data(), p + first, r.l1, r.weights[b],
                                  next.data(), change.data());
                for (std::size_t a = 0; a < size; ++a) largest = std::max(largest, move(first + a, next[a], bounds[b]));
            }
            block += size * size;
        }
        for (std::size_t j = r.n_penalised(); j < n; ++j) largest = std::max(largest, move_free(j));
        return largest;
    }

    void prepare(const SeparableCoordinates&) {}
    // The blocks of A'A + D on the groups; of large groups a bound, the trace times I
    void prepare(const GroupedCoordinates& r) {
        constexpr std::size_t large = 32;
        std::vector<double> column(columns.n_rows);
        for (std::size_t b = 0; b < r.n_groups; ++b) {
            const std::size_t first = r.first(b), size = r.first(b + 1) - first, start = blocks.size();
            blocks.resize(start + size * size, 0.0);
            double* block = blocks.data() + start;
            double trace = 0.0;
            for (std::size_t a = 0; a < size; ++a) {
                trace += curvature(first + a);
                block[a * size + a] = curvature(first + a);
                if (size == 1 || size > large) continue;
                columns.axpy(place(first + a), 1.0, column.data());
                for (std::size_t other = 0; other < a; ++other)
                    block[a * size + other] = block[other * size + a] = columns.dot(place(first + other), column.data());
                columns.axpy(place(first + a), -1.0, column.data());
            }
            if (size > large)
                for (std::size_t a = 0; a < size; ++a) block[a * size + a] = trace;
            bounds.push_back(row_sum_norm(block, size, size));
            if (slope.size() < size) slope.resize(size);
        }
        next.resize(slope.size());
        change.resize(slope.size());
    }

    // Sweeps over the coordinates until none moves its gradient by more than tol, or so many.
    // Returns the largest change of a gradient in the last, and their number.
    template <class R>
    std::pair<double, int> descend(const R& r, int sweeps, double tol) {
        prepare(r);
        std::vector<double> points(p, p + n);  // after each of the last sweeps
        for (int k = 1;; ++k) {
            const double largest = sweep(r);
            if (largest <= tol || k >= sweeps) return {largest, k};
            pause();
            points.insert(points.end(), p, p + n);
            if (points.size() <= combined * n) continue;
            extrapolate(r, points);
            points.assign(p, p + n);
        }
    }

    // Moves towards the affine combination of the last points at which they change least, as
    // sweeps that settle change by a linear map: Anderson acceleration (Bertrand and Massias, 2021).
    template <class R>
    void extrapolate(const R& r, const std::vector<double>& points) {
        SmallMatrix<combined> products{};
        for (std::size_t j = 0; j < n; ++j) {
            std::array<double, combined> change;
            for (std::size_t a = 0; a < combined; ++a) change[a] = points[(a + 1) * n + j] - points[a * n + j];
            for (std::size_t a = 0; a < combined; ++a)
                for (std::size_t b = 0; b <= a; ++b) products[a][b] += change[a] * change[b];
        }
        std::array<double, combined> ones, share;
        ones.fill(1.0);
        solve_small(products, ones, share);
        double total = 0.0;
        for (const double x : share) total += x;
        if (!(std::fabs(total) > 0.0 && std::isfinite(total))) return;
        const std::vector<std::size_t> support = r.support(p, n);
        std::vector<double> step(support.size(), 0.0);
        for (std::size_t k = 0; k < support.size(); ++k)
            for (std::size_t a = 0; a + 1 < combined; ++a)
                step[k] += share[a] / total * (points[(a + 1) * n + support[k]] - p[support[k]]);
        step_along(r, support, step);
    }

    // A Newton step on the support by conjugate gradients, until their residual is a share of
    // the first; returns how many they took.
    template <class R>
    int newton_step(const R& r, int most, double accuracy) {
        std::vector<std::size_t> support = r.support(p, n);
        std::erase_if(support, [&](std::size_t j) { return !(curvature(j) > 0.0); });
        const std::size_t k = support.size();
        std::vector<double> residual(k), step(k, 0.0);
        const std::vector<double> slope = gradients(support);
        const Derivatives derivatives = r.derivatives(support, p);
        for (std::size_t a = 0; a < k; ++a) residual[a] = -slope[a] - derivatives.first[a];
        const int count = conjugate_gradients(support, derivatives, most, accuracy, residual, step);
        step_along(r, support, step);
        return count;
    }

    std::vector<double> gradients(const std::vector<std::size_t>& support) const {
        std::vector<double> out(support.size());
        columns.dots(taken(support), s, out.data());
        for (std::size_t a = 0; a < out.size(); ++a) {
            const std::size_t j = support[a];
            out[a] += g[j] + ridge[j] * (p[j] - w[j]);
        }
        return out;
    }
    // The places of the support among the columns
    std::vector<std::size_t> taken(const std::vector<std::size_t>& support) const {
        std::vector<std::size_t> out;
        for (const std::size_t j : support) out.push_back(place(j));
        return out;
    }

    int conjugate_gradients(const std::vector<std::size_t>& support, const Derivatives& derivatives, int most,
                            double accuracy, std::vector<double>& residual, std::vector<double>& step) {
        const std::size_t k = support.size();
        std::vector<double> diagonal(k), direction(k, 0.0), product(k), v(columns.n_rows);
        const std::vector<std::size_t> taken = this->taken(support);
        for (std::size_t a = 0; a < k; ++a) diagonal[a] = curvature(support[a]) + derivatives.diagonal(a);
        double before = 1.0, target = 0.0;
        int count = 0;
        for (; count < most; ++count) {
            double size = 0.0;
            for (std::size_t a = 0; a < k; ++a) size += residual[a] * residual[a] / diagonal[a];
            if (count == 0) target = accuracy * accuracy * size;
            if (!(size > target)) break;
            pause();
            const double ratio = count > 0 ? size / before : 0.0;
            for (std::size_t a = 0; a < k; ++a) direction[a] = residual[a] / diagonal[a] + ratio * direction[a];
            std::fill(v.begin(), v.end(), 0.0);
            columns.add(taken, direction.data(), v.data());
            columns.dots(taken, v.data(), product.data());
            for (std::size_t a = 0; a < k; ++a) product[a] += ridge[support[a]] * direction[a];
            derivatives.add_product(direction.data(), product.data());
            double curve = 0.0;
            for (std::size_t a = 0; a < k; ++a) curve += direction[a] * product[a];
            if (!(curve > 0.0)) break;
            for (std::size_t a = 0; a < k; ++a) {
                step[a] += size / curve * direction[a];
                residual[a] -= size / curve * product[a];
            }
            before = size;
        }
        return count;
    }

    // Moves the support along a step: all the way, half, a quarter, or to the first kink,
    // whichever first lowers the objective.
    template <class R>
    bool step_along(const R& r, const std::vector<std::size_t>& support, const std::vector<double>& step) {
        const std::size_t k = support.size();
        const std::vector<std::size_t> taken = this->taken(support);
        std::vector<double> change(k), response(columns.n_rows);
        double to_kink = 1.0;
        for (std::size_t a = 0; a < k; ++a) to_kink = std::min(to_kink, r.to_kink(support[a], p[support[a]], step[a]));
        for (const double length : {1.0, 0.5, 0.25, to_kink}) {
            std::fill(response.begin(), response.end(), 0.0);
            double gain = 0.0;
            for (std::size_t a = 0; a < k; ++a) {
                const std::size_t j = support[a];
                change[a] = r.moved(j, p[j], length * step[a]) - p[j];
                gain += change[a] * (g[j] + ridge[j] * (p[j] - w[j] + 0.5 * change[a]));
            }
            columns.add(taken, change.data(), response.data());
            for (std::size_t t = 0; t < response.size(); ++t) gain += response[t] * (s[t] + 0.5 * response[t]);
            gain += r.rise(support, p, change.data());
            if (!(gain < 0.0)) continue;
            for (std::size_t a = 0; a < k; ++a) {
                const double from = p[support[a]], to = from + change[a];
                p[support[a]] = std::fabs(to) <= 1e-16 * std::fabs(from) ? 0.0 : to;
            }
            for (std::size_t t = 0; t < response.size(); ++t) s[t] += response[t];
            return true;
        }
        return false;
    }
};

}  // namespace skpd
