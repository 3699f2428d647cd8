/// The exchanges under way, in the order of their start. All exchanges have one time-out, so the first exchange is due
/// first, and one timer is enough.
struct HTTPExchangeList {
    private(set) var first: HTTPExchange?
    private var last: HTTPExchange?

    mutating func append(_ exchange: HTTPExchange) {
        exchange.previous = last
        if let last { last.next = exchange } else { first = exchange }
        last = exchange
    }

    mutating func remove(_ exchange: HTTPExchange) {
        if let previous = exchange.previous { previous.next = exchange.next } else { first = exchange.next }
        if let next = exchange.next { next.previous = exchange.previous } else { last = exchange.previous }
        exchange.previous = nil
        exchange.next = nil
    }
}
