#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The machine's wall clock and monotonic clock. The rules that judge purchases do not use this type: they get times
/// as arguments.
public enum WallClock {
    public static var now: Timestamp {
        let time = read(CLOCK_REALTIME)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The seconds of a clock that never goes back. The clock's start is unknown.
    public static var monotonicSeconds: Double {
        let time = read(CLOCK_MONOTONIC)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
