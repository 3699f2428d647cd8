import Pipeline

extension CommandFailure {
    /// Makes the failure of a refused rewind. Exit code 1, because the workers have to stop first.
    package init(_ refusal: OffsetRewind.Refusal) {
        switch refusal {
        case .groupHasMembers: self.init("the group has members: stop all of its workers first", code: 1)
        case .workerHasBegun:
            self.init("a worker has started meanwhile: stop all workers of the group first", code: 1)
        }
    }
}
