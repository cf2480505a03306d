const GIB = 2 ** 30

/** `12.3 GiB`, the usual unit for disks. */
export const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`

/** Less free space than this is a problem: the database stops, or containers cannot write. */
export const DISK_PROBLEM_BYTES = GIB
/** Less free space than this is soon a problem: one image with JupyterLab has about this size. */
export const DISK_WARNING_BYTES = 5 * GIB
