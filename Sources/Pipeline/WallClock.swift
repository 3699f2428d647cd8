import Foundation
import Fulfillment

/// The two clocks of the shell: pure code gets times as arguments.
///
/// By Foundation and not by `timespec`: which of the C modules that type belongs to depends on the order in which the files
/// of this module are read, and with it whether it may be used here at all.
enum WallClock {
    static var now: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    /// Seconds that only ever grow.
    static var monotonicSeconds: Double { ProcessInfo.processInfo.systemUptime }
}
