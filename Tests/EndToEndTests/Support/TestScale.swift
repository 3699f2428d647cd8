import Foundation

/// The size of some tests: little by default, and as much as the environment says by hand (CONTRIBUTING.md).
enum TestScale {
    static func number(_ name: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    /// The limit of tests that take longer with more to do.
    static func seconds(for count: Int) -> Int { 120 + count / 10 }
}
