import Foundation

/// How much some tests do: little where nobody says otherwise, and as much as the environment says by hand (CONTRIBUTING.md).
enum TestScale {
    static func number(_ name: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    /// For what takes longer with more to do.
    static func seconds(for count: Int) -> Int { 120 + count / 10 }
}
