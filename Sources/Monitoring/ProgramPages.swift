import CProgramPages

/// Gives back the memory of code that ran once, as at the start, and that an idle worker never runs again. It is a copy of what is in
/// the program's files: the system would take it only where memory is short, and counts it as the worker's until then.
package enum ProgramPages {
    /// The time from the start until what it needed is given back.
    private static let firstSeconds = 30.0
    /// The time until what ran now and then is given back.
    private static let pauseSeconds = 600.0

    /// Runs until it is cancelled.
    package static func run() async {
        var seconds = firstSeconds
        while (try? await Task.sleep(for: .seconds(seconds))) != nil {
            release()
            seconds = pauseSeconds
        }
    }

    /// Returns the number of address ranges that were given back. Code that runs meanwhile is read from its file again, which the
    /// system has in memory.
    @discardableResult
    package static func release() -> Int { Int(receiptd_release_code()) }
}
