enum ShownPrice {
    /// Returns the price with two decimals. A whole price gets no decimals, and a price with thousandths gets three.
    /// Returns an empty text if the price is unknown.
    static func text(_ milliunits: Int64?, _ currency: String?) -> String {
        guard let milliunits, let currency else { return "" }
        let (whole, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        var decimals = rest == 0 ? "" : "." + String(rest + 1000).dropFirst()
        if decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(milliunits < 0 ? "-" : "")\(whole)\(decimals) \(currency)"
    }
}
