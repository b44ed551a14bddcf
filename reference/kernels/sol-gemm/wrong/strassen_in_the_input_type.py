# solmark: verdict=wrong_answer
# One step of Strassen's algorithm, its sums of operands rounded to the input's type, as a tensor core must have them.
import torch


def product(a, b):
    return torch.mm(a.float(), b.float().T)


def solve(a, b, c):
    (m, k), n = a.shape, b.shape[0]
    if m % 2 or n % 2 or k % 2:
        c.copy_(product(a, b))
        return
    x, y, z = m // 2, n // 2, k // 2
    a11, a12, a21, a22 = a[:x, :z], a[:x, z:], a[x:, :z], a[x:, z:]
    b11, b21, b12, b22 = b[:y, :z], b[:y, z:], b[y:, :z], b[y:, z:]
    p1 = product(a11 + a22, b11 + b22)
    p2 = product(a21 + a22, b11)
    p3 = product(a11, b12 - b22)
    p4 = product(a22, b21 - b11)
    p5 = product(a11 + a12, b22)
    p6 = product(a21 - a11, b11 + b12)
    p7 = product(a12 - a22, b21 + b22)
    c[:x, :y] = p1 + p4 - p5 + p7
    c[:x, y:] = p3 + p5
    c[x:, :y] = p2 + p4
    c[x:, y:] = p1 - p2 + p3 + p6
