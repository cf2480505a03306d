import { type LicensedPackage } from './licensed-package.ts'

/** All packages, by name. The build puts them here (`build/vite-licences.ts`); a page in development has none. */
export const PACKAGES: readonly LicensedPackage[] = []
