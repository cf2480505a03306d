import { readFile, stat } from 'node:fs/promises'
import { because } from '#manager/contract'
import { type Log } from '../../log.ts'
import { readCertificate, type ServedCertificate, unusable } from './certificate.ts'

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

/** Reads the files of a certificate that an administrator gave. @throws AppError `certificate_unusable` */
export async function readCertificateFiles(files: CertificateFiles, now: Date, log: Log): Promise<ServedCertificate> {
  const [cert, key] = await Promise.all([read(files.certificate), read(files.key)])
  if (process.platform !== 'win32' && ((await stat(files.key)).mode & 0o007) !== 0) {
    log.warn({ file: files.key }, 'every user of this computer can read the key of the certificate: chmod 600 it')
  }
  return readCertificate({ cert, key }, { cert: files.certificate, key: files.key }, now)
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const errno = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw unusable(because('cert_file_unreadable', { file, errno }), error)
  }
}
