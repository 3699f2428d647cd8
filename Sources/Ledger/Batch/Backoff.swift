/// The delay before the next try after a failure of the database: 0.1 s, doubled each time up to 2 s, of which chance
/// takes off up to half.
struct Backoff {
    private static let shortest = 0.1
    private static let longest = 2.0

    private var seconds = shortest

    /// Waits for the delay. Returns early if the task is cancelled.
    mutating func wait() async {
        let delay = seconds * Double.random(in: 0.5...1)
        seconds = min(seconds * 2, Self.longest)
        try? await Task.sleep(for: .seconds(delay))
    }
}
