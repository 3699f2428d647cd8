import ArgumentParser
@main struct Main: AsyncParsableCommand { func run() async throws {} }
