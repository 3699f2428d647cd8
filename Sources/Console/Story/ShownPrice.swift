/// Apple's price in words for people.
enum ShownPrice {
    /// The price to the last thousandth that counts, in two decimals at least if it is no whole number; empty if it is
    /// unknown.
    static func text(_ milliunits: Int64?, _ currency: String?) -> String {
        guard let milliunits, let currency else { return "" }
        let (whole, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        var decimals = rest == 0 ? "" : "." + String(rest + 1000).dropFirst()
        if decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(milliunits < 0 ? "-" : "")\(whole)\(decimals) \(currency)"
    }
}
