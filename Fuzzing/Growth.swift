import CoreFoundation
import Glibc

/// Whether twice the input costs about twice the work, and not four times.
///
/// Processor time of this thread, the least of several runs, so that a busy machine makes it slower but no steeper.
enum Growth {
    /// Work that grows with the square gives 4, what is linear 2 and a little.
    private static let steepest = 3.0
    private static let runs = 3

    /// Seconds that nothing of this size may take.
    private static let longest = 2.0

    static func measure(_ targets: [FuzzTarget]) {
        var isSteep = false
        for target in targets {
            for family in target.families {
                let half = time(target, family.make(family.size / 2))
                let whole = half > longest ? .infinity : time(target, family.make(family.size))
                // Below a millisecond the clock's own steps are what is measured.
                let ratio = whole < 0.001 ? 1 : whole / max(half, 0.000_001)
                let isGood = ratio <= steepest && whole <= longest
                if !isGood { isSteep = true }
                let name = family.name.count > 48 ? String(family.name.prefix(47)) + "…" : family.name
                let figures =
                    "\(hundredths(half * 1000)) ms, then \(hundredths(whole * 1000)) ms: ×\(hundredths(ratio))"
                print("\(isGood ? "✓" : "✗") \(target.name)  \(name.debugDescription)  \(figures)")
                fflush(nil)
            }
        }
        if isSteep { exit(1) }
    }

    private static func time(_ target: FuzzTarget, _ input: [UInt8]) -> Double {
        var least = Double.infinity
        for _ in 0..<runs where least == .infinity || least < longest {
            let start = seconds()
            (target.read ?? target.check)(input)
            least = min(least, seconds() - start)
        }
        return least
    }

    private static func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 }

    private static func seconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
