/// The time that the database is not tried after a failure: 0.1 s, then twice that each time up to 2 s, half of it by
/// chance.
struct Backoff {
    private static let shortest = 0.1
    private static let longest = 2.0

    private var seconds = shortest

    /// Returns early where the task is cancelled.
    mutating func wait() async {
        let delay = seconds * Double.random(in: 0.5...1)
        seconds = min(seconds * 2, Self.longest)
        try? await Task.sleep(for: .seconds(delay))
    }
}
