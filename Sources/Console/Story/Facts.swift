import OperationsHTTP

/// Writes the facts about a row, such as ids, price and times, as a short HTML list.
enum Facts {
    private static let ids = [
        ("Player", "player_id"), ("Transaction", "transaction_id"), ("Original transaction", "original_transaction_id"),
        ("Submission", "submission_id"), ("Event", "event_id"),
    ]
    private static let words = [
        ("App", "bundle_id"), ("Environment", "environment"), ("Kind", "kind"), ("Reason", "reason"),
        ("Cause", "detail_code"),
    ]
    private static let times = [
        ("Bought", "purchased_at"), ("Granted", "granted_at"), ("Held", "held_at"), ("Waits since", "parked_at"),
        ("Expires", "expires_at"), ("Grace until", "grace_expires_at"), ("Taken back", "revoked_at"),
    ]

    /// The columns with the time at which a lasting state began. The page shows how long ago that was.
    private static let beginnings: Set = ["granted_at", "held_at", "parked_at"]

    /// Returns the name of each fact, and its value as HTML.
    private static func of(_ row: InspectionRow) -> [(name: String, html: String)] {
        var facts: [(name: String, html: String)] = []
        if row.text("product_id") != nil { facts.append(("Purchase", row.purchase)) }
        let price = ShownPrice.text(row.number("price_milliunits").map(Int64.init), row.text("currency"))
        if !price.isEmpty { facts.append(("Price", HTMLText.shown(price))) }
        facts += ids.filter { row.text($0.1) != nil }.map { ($0.0, row.link($0.1)) }
        facts += words.filter { row.text($0.1) != nil }.map { ($0.0, row.shown($0.1)) }
        facts += times.compactMap { name, column in
            row.time(column).map { time in
                (name, ShownTime.html(time) + (beginnings.contains(column) ? ", \(ShownTime.age(time)) ago" : ""))
            }
        }
        return facts
    }

    static func html(_ row: InspectionRow) -> String {
        "<dl class=\"facts\">"
            + of(row).map { "<div><dt>\($0.name)</dt><dd>\($0.html)</dd></div>" }.joined() + "</dl>"
    }
}
