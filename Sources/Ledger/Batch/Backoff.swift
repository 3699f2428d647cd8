/// The delay before the next try after a failure of the database. It is 0.1 s, and doubles up to 2 s. Each delay is
/// shortened at random, by up to half.
struct Backoff {
    private static let shortest = 0.1
    private static let longest = 2.0

    private var seconds = shortest

    /// Waits for the delay. Returns earlier if the task is cancelled.
    mutating func wait() async {
        let delay = seconds * Double.random(in: 0.5...1)
        seconds = min(seconds * 2, Self.longest)
        try? await Task.sleep(for: .seconds(delay))
    }
}
