/// Lets what is said again and again through once a minute, and counts what it leaves out meanwhile. A value: times are monotonic
/// seconds given by the caller.
struct RepeatedWords {
    /// The seconds between two lines of the same words.
    static let seconds = 60.0
    /// Different words that are remembered.
    static let most = 200

    private var said: [String: (at: Double, leftOut: Int)] = [:]

    /// Nil where the same was said less than a minute ago. Else how often it was left out since it was said last.
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

    /// Numbers tell partitions, offsets, brokers and times apart, which say the same.
    static func key(_ words: String) -> String { String(words.filter { !$0.isNumber }) }
}
