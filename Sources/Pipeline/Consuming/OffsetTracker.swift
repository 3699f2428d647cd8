/// Tracks one partition's admitted records (records that the worker has begun). The records before the first unfinished
/// record are the done prefix, up to which the worker may commit.
///
/// Compaction and transaction markers leave gaps between offsets, which are not missing records. So only admitted
/// offsets count. `finish` uses a binary search.
struct OffsetTracker: Sendable {
    private var offsets: [Int64] = []
    private var isFinished: [Bool] = []
    /// The index before which every offset is finished. `admit` removes those offsets when there are many.
    private var head = 0
    /// The offset after the highest admitted offset; nil before the first record.
    private(set) var end: Int64?

    init() {}

    /// The number of records after the done prefix, finished or not.
    var count: Int { offsets.count - head }

    /// The number of offsets in memory, including some of the done prefix.
    var heldCount: Int { offsets.count }

    /// The number of unfinished records. Counting takes time in proportion to `count`.
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

    /// Marks a record as finished. Ignores an unknown offset, because it belongs to an earlier assignment.
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

    /// The offset from which to read after a crash: the first unfinished offset, or the offset after the last record if
    /// all are finished. Nil before the first record.
    var committable: Int64? { head < offsets.count ? offsets[head] : end }
}
