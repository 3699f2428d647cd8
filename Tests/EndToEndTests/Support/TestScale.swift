import Foundation

/// The size of some tests. It is small by default, and larger if the environment says so (CONTRIBUTING.md).
enum TestScale {
    static func number(_ name: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    /// Returns the time limit in seconds of a test that takes longer with more players.
    static func seconds(for count: Int) -> Int { 120 + count / 10 }
}
