"""Max-min fairness: small demands are met in full, the others share the rest equally."""

from collections.abc import Sequence


def fair_shares(demands: Sequence[int], capacity: int) -> list[int]:
    """Divide `capacity` among `demands` (same unit, >= 0); the result aligns with `demands`.

    No share exceeds its demand; a share is smaller than another only where its demand is met (but for the one unit that
    does not divide evenly: earlier ones get it); the sum is min(capacity, sum(demands)). O(n log n).
    """
    shares = [0] * len(demands)
    left = max(0, capacity)
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for served, index in enumerate(order):
        level, odd = divmod(left, len(order) - served)
        if demands[index] > level:
            for nth, unserved in enumerate(sorted(order[served:])):
                shares[unserved] = level + (nth < odd)
            break
        shares[index] = demands[index]
        left -= demands[index]
    return shares
