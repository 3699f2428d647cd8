import Pipeline

extension CommandFailure {
    /// Makes the failure of a refused rewind. Exit code 1, because the workers have to stop first.
    package init(_ refusal: OffsetRewind.Refusal) {
        switch refusal {
        case .groupHasMembers: self.init("the consumer group still has members: stop all of its workers first", code: 1)
        case .workerHasBegun:
            self.init("a worker of the consumer group has started meanwhile: stop all of its workers first", code: 1)
        }
    }
}
