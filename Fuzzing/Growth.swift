import CoreFoundation
import Glibc

/// Checks that twice the input costs about twice the work, and not four times.
///
/// It measures the processor time of this thread, and takes the least of several runs. A busy machine makes the work
/// slower, but does not change the ratio.
enum Growth {
    /// The highest accepted ratio. Quadratic work gives 4, linear work slightly more than 2.
    private static let steepest = 3.0
    private static let runs = 3

    /// The most seconds for one input.
    private static let longest = 2.0

    static func measure(_ targets: [FuzzTarget]) {
        var isSteep = false
        for target in targets {
            for family in target.families {
                let half = time(target, family.make(family.size / 2))
                let whole = half > longest ? .infinity : time(target, family.make(family.size))
                // Below a millisecond the clock's resolution would decide the ratio.
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
