import Foundation

/// The size of some tests. The size is small, unless an environment variable sets a larger size (CONTRIBUTING.md).
enum TestScale {
    static func number(_ name: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    /// Returns the time limit in seconds of a test that takes longer with more players.
    static func seconds(for count: Int) -> Int { 120 + count / 10 }
}
