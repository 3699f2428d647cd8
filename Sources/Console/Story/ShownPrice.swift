/// What Apple told of a price, for people.
enum ShownPrice {
    /// To the last thousandth that counts, in two decimals at least where it is no whole number; empty where it is not known.
    static func text(_ milliunits: Int64?, _ currency: String?) -> String {
        guard let milliunits, let currency else { return "" }
        let (whole, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        var decimals = rest == 0 ? "" : "." + String(rest + 1000).dropFirst()
        if decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(milliunits < 0 ? "-" : "")\(whole)\(decimals) \(currency)"
    }
}
