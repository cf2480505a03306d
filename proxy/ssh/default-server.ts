import { join } from 'node:path'
import { decideOnce, writeFileAtomically } from '../files.ts'

/**
 * The server whose sessions have short aliases (`berth-NAME`) on this computer, by its label. The first server that is used stays it, until
 * the user chooses another one; sessions of all others have the server in their alias.
 *
 * Threat model: scripts copy files to `berth-train`, and each server chooses the names of its sessions, when they run, and with that when
 * their tunnels close. If a short alias belonged to whatever session of that name is open, files meant for one server would go to another.
 */
export const defaultServerIn = async (sshDirectory: string, label: string): Promise<string> =>
  (await decideOnce(fileIn(sshDirectory), label)).trim()

/** Gives the short aliases to another server, from the next connection on. */
export const makeDefaultServer = (sshDirectory: string, label: string): Promise<void> =>
  writeFileAtomically(fileIn(sshDirectory), label)

const fileIn = (sshDirectory: string) => join(sshDirectory, 'berth', 'default-server')
