/// A heap of events, the earliest first.
struct Schedule {
    private var heap: [(at: Double, id: Int)] = []

    mutating func add(_ id: Int, at time: Double) {
        heap.append((time, id))
        var child = heap.count - 1
        while child > 0, heap[child].at < heap[(child - 1) / 2].at {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    var count: Int { heap.count }

    /// Moves the event at this index of the heap to `time` if `time` is earlier. Does nothing otherwise.
    mutating func wake(_ place: Int, at time: Double) {
        guard heap.indices.contains(place), heap[place].at > time else { return }
        let id = heap[place].id
        let others = heap.enumerated().filter { $0.offset != place }.map(\.element)
        heap = []
        for other in others { add(other.id, at: other.at) }
        add(id, at: time)
    }

    /// Removes and returns the earliest event that is due; nil if no event is due.
    mutating func next(_ now: Double) -> Int? {
        guard let first = heap.first, first.at <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first.id }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].at < heap[least].at {
                least = child
            }
            if least == parent { return first.id }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
