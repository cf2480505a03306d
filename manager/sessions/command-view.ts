import { type CommandState, type RequestReply } from '#agent/contract'
import { type Command, type CommandOutput } from '#manager/contract'

const MS = 1_000

/** A command as clients see it. Pure. */
export function toCommand({
  id,
  sessionId,
  kernelId,
  shown,
  attached,
  startedAt,
  ranMs,
  end,
  ...bytes
}: CommandState): Command {
  const { stdoutBytes, stderrBytes } = bytes
  return {
    id,
    sessionId,
    kernelId,
    command: shown,
    attached,
    status: end === null ? 'RUNNING' : 'ENDED',
    startedAt,
    seconds: Math.round(ranMs) / MS,
    exitCode: end?.exitCode ?? null,
    reason: end?.reason ?? null,
    stdoutBytes,
    stderrBytes,
  }
}

/** A part of an output. A character of a text whose last bytes are not there yet is left to the next part. Pure. */
export function toOutput(
  { offset, bytes, total, ended }: Omit<RequestReply<'read_command'>, 'bytes'> & { readonly bytes: Buffer },
  encoding: 'utf8' | 'base64',
): CommandOutput {
  const isLast = ended && offset + bytes.length >= total
  const length = isLast || encoding === 'base64' ? bytes.length : wholeCharacters(bytes)
  return { offset, text: bytes.toString(encoding, 0, length), next: offset + length, ended: isLast }
}

/** Bytes of a text in UTF-8 up to a last character that is cut off. Exported for its test. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
