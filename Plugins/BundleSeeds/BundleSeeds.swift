import Foundation
import PackagePlugin

/// Puts the sample cases of `seeds` into the demo's target, as one Swift file.
@main
struct BundleSeeds: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let seeds = context.package.directoryURL.appending(path: "seeds")
        let script = context.package.directoryURL.appending(path: "Plugins/BundleSeeds/bundle.sh")
        let output = context.pluginWorkDirectoryURL.appending(path: "SeedArchive.swift")
        let files = FileManager.default.enumerator(at: seeds, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }
            .filter { ["json", "jsonl", "pem", "yaml"].contains($0.pathExtension) }
            .sorted { $0.path() < $1.path() }
        return [
            .buildCommand(
                displayName: "Bundling the sample cases", executable: URL(filePath: "/bin/sh"),
                arguments: [script.path(), seeds.path(), output.path()], inputFiles: [script] + (files ?? []),
                outputFiles: [output])
        ]
    }
}
