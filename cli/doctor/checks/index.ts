import { type Check } from '../check.ts'
import { appsAddress } from './apps-address.ts'
import { certificate } from './certificate.ts'
import { cgroups } from './cgroups.ts'
import { clock } from './clock.ts'
import { consolePort } from './console-port.ts'
import { dataDirectory } from './data-directory.ts'
import { dataDisk } from './data-disk.ts'
import { healthCommand } from './health-command.ts'
import { homesDisk } from './homes-disk.ts'
import { database } from './database.ts'
import { engineDisk } from './engine-disk.ts'
import { engine } from './engine.ts'
import { firewall } from './firewall.ts'
import { gpu } from './gpu.ts'
import { ipForward } from './ip-forward.ts'
import { kernelLimits } from './kernel-limits.ts'
import { liveRestore } from './live-restore.ts'
import { localhostNames } from './localhost-names.ts'
import { managers } from './managers.ts'
import { metrics } from './metrics.ts'
import { nodeVersion } from './node-version.ts'
import { openFiles } from './open-files.ts'
import { reverseProxy } from './reverse-proxy.ts'
import { running } from './running.ts'
import { secretFiles } from './secret-files.ts'
import { sessionFiles } from './session-files.ts'
import { sessionImages } from './session-images.ts'
import { slurmEpilog } from './slurm-epilog.ts'
import { slurmHistory } from './slurm-history.ts'
import { sshClient } from './ssh-client.ts'
import { storageDriver } from './storage-driver.ts'
import { toolboxImage } from './toolbox-image.ts'
import { updates } from './updates.ts'

/** Checks in the order of their output. */
export const CHECKS: readonly Check[] = [
  running,
  nodeVersion,
  updates,
  dataDirectory,
  dataDisk,
  homesDisk,
  sessionFiles,
  secretFiles,
  database,
  clock,
  managers,
  metrics,
  consolePort,
  certificate,
  reverseProxy,
  appsAddress,
  engine,
  liveRestore,
  cgroups,
  storageDriver,
  engineDisk,
  toolboxImage,
  sessionImages,
  gpu,
  healthCommand,
  slurmEpilog,
  slurmHistory,
  firewall,
  ipForward,
  kernelLimits,
  openFiles,
  localhostNames,
  sshClient,
]
