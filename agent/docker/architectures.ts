/** Names that the kernel gives to architectures, and those of images, which are the words of Go. */
const NAMES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  i386: '386',
  i686: '386',
  armv6l: 'arm',
  armv7l: 'arm',
  armv8l: 'arm',
}
/** Architectures that most processors of this one run as well: a host is left out only where it certainly cannot run an image. */
const OLDER: Readonly<Record<string, string>> = { amd64: '386', arm64: 'arm' }

/**
 * Architectures of images that an engine runs, its own first.
 *
 * @param reported architecture as the engine says it; empty where it does not
 * @param emulated further ones, for which the administrator has set up an emulator
 */
export function runnableArchitectures(reported: string, emulated: readonly string[]): string[] {
  if (reported === '') return []
  const own = NAMES[reported] ?? reported
  const older = OLDER[own]
  return [...new Set([own, ...(older === undefined ? [] : [older]), ...emulated])]
}
