import Foundation

/// Calls libFuzzer, which comes with the toolchain.
enum LibFuzzer {
    /// The target's check, set once before the first input. libFuzzer calls it on the thread that runs libFuzzer.
    nonisolated(unsafe) private static var check: @Sendable ([UInt8]) -> Void = { _ in }

    /// Runs libFuzzer with the program's arguments, which limit the run, and returns libFuzzer's exit code.
    static func run(_ target: FuzzTarget) -> Int32 {
        check = target.check
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        return driver(&count, &arguments) { bytes, size in
            LibFuzzer.check(Array(UnsafeBufferPointer(start: bytes, count: size)))
            return 0
        }
    }

    private typealias Input = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    #if Fuzzing
        @_silgen_name("LLVMFuzzerRunDriver")
        private static func driver(
            _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>, _ input: Input
        ) -> Int32
    #else
        /// A build without the trait has no fuzzer to link with. This function replaces it, so that the rest compiles.
        private static func driver(
            _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>, _ input: Input
        ) -> Int32 {
            FileHandle.standardError.write(Data("Fuzz: built without the trait Fuzzing, see scripts/fuzz.sh\n".utf8))
            return EX_UNAVAILABLE
        }
    #endif
}
