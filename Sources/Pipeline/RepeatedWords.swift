/// Limits each repeated text to once a minute, and counts how often the text was left out. The caller passes the time
/// in monotonic seconds.
struct RepeatedWords {
    /// The seconds between two lines with the same text.
    static let seconds = 60.0
    /// The most different texts that are remembered.
    static let most = 200

    private var said: [String: (at: Double, leftOut: Int)] = [:]

    /// Returns nil if the text was logged less than a minute ago. Otherwise returns the number of times that the text
    /// was left out since it was last logged.
    mutating func leftOut(of words: String, now: Double) -> Int? {
        if var known = said[words], now - known.at < Self.seconds {
            known.leftOut += 1
            said[words] = known
            return nil
        }
        let leftOut = said[words]?.leftOut ?? 0
        if said.count >= Self.most { said = said.filter { now - $0.value.at < Self.seconds } }
        if said.count >= Self.most { said = [:] }
        said[words] = (now, 0)
        return leftOut
    }

    /// Returns the text without digits, which only distinguish partitions, offsets, brokers and times.
    static func key(_ words: String) -> String { String(words.filter { !$0.isNumber }) }
}
