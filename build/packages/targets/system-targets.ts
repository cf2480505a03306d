import { join } from 'node:path'
import { buildDeb, debArchitecture, type DebPackage, type SystemPackage } from '../deb.ts'
import { MANIFEST } from '../manifest.ts'
import { buildRpm, rpmArchitecture, type RpmPackage } from '../rpm.ts'
import { type PackageWork, type Target } from '../target.ts'

/** A product for the package managers of Linux, and the data that they need. */
export interface SystemProduct {
  /** Prefix of the names of its two targets. */
  readonly target: string
  /** Description in the list of targets. */
  readonly about: string
  /** Creates the tree of the installed system, a new one for each packager, because packagers add files of their own. */
  readonly stage: (work: PackageWork, packager: 'deb' | 'rpm') => Promise<StagedSystem>
  readonly deb: Pick<DebPackage, 'section' | 'depends' | 'recommends' | 'scripts'>
  readonly rpm: Pick<RpmPackage, 'requires' | 'scripts' | 'owns'>
}

interface StagedSystem extends Omit<SystemPackage, 'version' | 'seconds'> {
  /** Text before the extension of the file's name. */
  readonly mark?: string
}

/** The targets that make a .deb and an .rpm of a product. */
export function systemTargets(product: SystemProduct): { readonly deb: Target; readonly rpm: Target } {
  const { version } = MANIFEST
  return {
    deb: {
      name: `${product.target}-deb`,
      about: `${product.about} for Debian and Ubuntu`,
      async make(work) {
        const { mark = '', ...staged } = await product.stage(work, 'deb')
        const file = join(work.outDir, `${staged.name}_${version}_${debArchitecture}${mark}.deb`)
        await buildDeb({ ...staged, version, seconds: work.seconds, ...product.deb }, file)
        return [file]
      },
    },
    rpm: {
      name: `${product.target}-rpm`,
      about: `${product.about} for Fedora and RHEL`,
      async make(work) {
        const { mark = '', ...staged } = await product.stage(work, 'rpm')
        const file = join(work.outDir, `${staged.name}-${version}-1.${rpmArchitecture}${mark}.rpm`)
        const workDir = join(work.stageDir, `rpmbuild-${product.target}`)
        await buildRpm({ ...staged, version, seconds: work.seconds, ...product.rpm }, workDir, file)
        return [file]
      },
    },
  }
}
