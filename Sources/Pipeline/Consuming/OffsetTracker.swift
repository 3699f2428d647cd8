/// The offsets of one partition's admitted records. The contiguous prefix of finished records may be committed.
///
/// Compaction and transaction markers leave gaps between offsets. A gap is no missing record, so only admitted offsets
/// count. Each finished record costs a binary search.
struct OffsetTracker: Sendable {
    private var offsets: [Int64] = []
    private var isFinished: [Bool] = []
    /// The index before which every offset is finished. `admit` removes those offsets once they are many.
    private var head = 0
    /// The offset behind the highest admitted one; nil before the first.
    private(set) var end: Int64?

    init() {}

    /// The number of records behind the finished prefix: each unfinished record, and each finished record behind one.
    var count: Int { offsets.count - head }

    /// The number of offsets in memory, including the finished prefix.
    var heldCount: Int { offsets.count }

    /// The number of unfinished records. The time to count them grows with `count`.
    var unfinishedCount: Int { isFinished[head...].count { !$0 } }

    /// - Precondition: offsets are admitted in ascending order, as Kafka delivers them.
    mutating func admit(_ offset: Int64) {
        precondition(end.map { offset >= $0 } ?? true, "offsets of one assignment ascend")
        if head > 1024, head * 2 > offsets.count {
            offsets.removeFirst(head)
            isFinished.removeFirst(head)
            head = 0
        }
        offsets.append(offset)
        isFinished.append(false)
        end = offset + 1
    }

    /// Notes a finished record. Unknown offsets are ignored, because they belong to an assignment that is over.
    mutating func finish(_ offset: Int64) {
        var low = head
        var high = offsets.count
        while low < high {
            let middle = (low + high) / 2
            if offsets[middle] < offset { low = middle + 1 } else { high = middle }
        }
        guard low < offsets.count, offsets[low] == offset else { return }
        isFinished[low] = true
        while head < offsets.count, isFinished[head] { head += 1 }
    }

    /// The next offset to read after a crash, which is the first unfinished one; nil before anything was admitted.
    var committable: Int64? { head < offsets.count ? offsets[head] : end }
}
