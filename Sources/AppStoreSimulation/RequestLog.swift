/// The last requests, at most `capacity`.
struct RequestLog: Sendable {
    let capacity: Int
    private var records: [SimulatedRequestRecord] = []
    private var oldest = 0

    init(capacity: Int) { self.capacity = max(0, capacity) }

    mutating func append(_ record: SimulatedRequestRecord) {
        if records.count < capacity {
            records.append(record)
        } else if capacity > 0 {
            records[oldest] = record
            oldest = (oldest + 1) % capacity
        }
    }

    /// The requests, oldest first.
    var all: [SimulatedRequestRecord] { Array(records[oldest...] + records[..<oldest]) }
}
