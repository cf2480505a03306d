/** Causes about folders, their files, and their storage: see `CAUSES`. */
export const FOLDER_CAUSES = {
  // folders
  clone_left_over: 'The copy ended early, and the new folder "{name}" could not be deleted yet: it is incomplete.',
  dot_folders_at_most:
    'You have {count} folders whose names start with a dot; {limit} can be mounted automatically. Rename some, or launch without them.',
  files_of_folder_gone: 'The files of the folder are not on the storage "{storage}" any more. Tell an admin.',
  folder_ambiguous: 'Several folders are named "{name}": {choices}. Use one of these names, or an id.',
  folder_deleted_filling: 'The folder "{name}" was deleted while it was filled.',
  folder_dot_has_members:
    '"{name}" has members or open invitations, and a folder whose name starts with a dot is mounted in each of your sessions. Take it back from them first.',
  folder_dot_not_shared:
    '"{name}" is mounted in each of your sessions, so programs there would run what others write. Share a folder whose name does not start with a dot.',
  folder_dot_of_project: 'The name of a folder of a project must not start with a dot.',
  folder_dot_mounted_by_others:
    'A running session of somebody else mounts "{name}", and a folder whose name starts with a dot is mounted in each of your sessions. Wait until that session has ended, or ask an admin to end it.',
  folder_dot_used_by_others:
    'Others, or programs that they left, can write into "{name}" in the session "{session}", and a folder whose name starts with a dot is mounted in each of your sessions. End that session first.',
  folder_filling: 'The folder "{name}" is still being filled with a copy. Wait until the copy has ended.',
  folder_filling_mount:
    'The folder "{name}" is still being filled with a copy. Wait until the copy has ended, or leave the folder out.',
  folder_from_launch:
    'The session has had "{name}" since it started, so it stays until the session ends. Start the session again without it.',
  folder_in_session: 'The session has "{name}" already, at "{path}". Take it out first.',
  folder_in_trash: '"{name}" is in the trash. Restore it first.',
  folder_not_in_session: 'The session has no such folder.',
  folder_not_own: 'Nobody can be invited to their own folder, and nobody can invite themselves.',
  folder_not_trashed_first:
    '"{name}" is not in the trash. Move it there first; after that it can be deleted permanently.',
  folder_of_session_deleted:
    'The folder "{name}" of this session was deleted. Start the session again without it, or launch a new one.',
  folder_permission_needs_project: 'Only the folder of a project has a permission: name its project.',
  folder_permission_of_project: 'Only the folder of a project has a permission.',
  folder_project_deactivated: 'The project of the folder "{name}" is deactivated. Ask an admin to activate it.',
  folder_project_deactivated_mount:
    'The project of the folder "{name}" is deactivated. Leave the folder out, or ask an admin to activate the project.',
  folder_project_deactivated_wait:
    'The project of the folder "{name}" is deactivated. The session starts once an admin activates it again, or launch it without the folder.',
  folder_deleted_wait:
    'The folder "{name}" was deleted for good while the session waited for its start. Launch a session without the folder.',
  folder_read_only_now:
    'The folder "{name}" is read-only in the session: since the request, its right was lowered to reading.',
  folder_right_of_launcher_withdrawn:
    '{who} launched this session for its owner, and may not mount the folder "{name}" any more. Launch a session without the folder.',
  folder_right_withdrawn:
    'The right to the folder "{name}" was withdrawn since the request. Ask the owner of the folder for it, or launch a session without the folder.',
  folder_share_limit: '"{name}" has {members} members and {open} open invitations; {limit} together are possible.',
  folder_named_like_id: 'The name of this folder looks like an id. Rename the folder before you restore it.',
  folder_taken: 'There is a folder "{name}" already. Choose another name.',
  folder_trashed: 'The folder "{name}" went to the trash.',
  folder_trashed_mount: 'The folder "{name}" is in the trash. Restore it first, or leave it out.',
  folder_trashed_restore: 'The folder "{name}" is in the trash. Restore it first.',
  folder_trashed_wait:
    'The folder "{name}" is in the trash. The session starts once its owner restores it. Or launch a session without the folder.',
  folder_unknown: 'You have no folder "{name}".',
  folder_used_by: 'Live sessions use "{name}": {sessions}. End them first.',
  folder_used_by_more: 'Live sessions use "{name}": {sessions} and {more} more. End them first.',
  folder_used_by_others:
    'Live sessions of other people use "{name}". Their number: {count}. Ask these people, or an admin, to end them first.',
  folders_in_session_at_most: 'A session mounts at most {limit} folders.',
  folders_not_told:
    'Its host has not said that it can: the agent there is of an earlier version, or not connected. Try again in a moment.',
  folders_of_running: 'Folders are added to running sessions. This one is {status}.',
  folders_at_most:
    'Resource policy "{policy}" allows {limit} folders, and you have {count}. Delete one, also from the trash, or ask an admin for another policy.',
  folders_at_most_one:
    'Resource policy "{policy}" allows 1 folder, and you have {count}. Delete one, also from the trash, or ask an admin for another policy.',
  invitation_over: 'The invitation was withdrawn, accepted or declined, or it expired.',
  leave_managed: 'You manage "{name}" and were not invited to it.',
  leave_of_project: 'You see "{name}" as a member of its project: an admin takes you out of the project.',
  member_already: '{email} is a member of "{name}" already.',
  member_gone: 'The folder has no such member any more.',
  mount_inside: '"{path}" lies inside "{outer}", where another folder is to be mounted. Give it another path.',
  mount_over_automatic:
    'Your folder "{folder}" is mounted automatically at "{at}", so "{name}" cannot be mounted at "{path}". Give it another path, or launch without automatic mounts.',
  mount_same: 'Two folders are to be mounted at "{path}". Give one of them another path.',
  only_owner_changes: 'Only its owner changes it.',
  only_admin_changes_project_folder: 'It belongs to a project: only an admin changes it.',

  // files
  archive_at_most: 'An archive takes at most {limit} files. Download directories one by one.',
  archive_bytes_at_most:
    'An archive takes at most {limit}. Sparse files count as a whole. Download directories one by one.',
  archive_only_files: '"{name}" is neither a file nor a directory. Leave it out.',
  changed_while_moved:
    '"{name}" has changed while it was copied, so it stays where it is. Try again when nothing writes to it.',
  connection_cut: 'The connection was cut.',
  copy_into_itself: '"{path}" cannot be copied into itself.',
  directory_has_files: '"{name}" is a directory with files in it.',
  directory_there: '"{name}" exists already, as a directory.',
  dotfile_unknown: 'You have no dotfile "{path}".',
  dotfiles_at_most: 'At most {count} are kept. Remove one first.',
  dotfiles_too_large:
    'All together may have {limit} KiB, and the others have {others} KiB. Keep large files in a folder.',
  download_expired: 'The link has expired. Start the download again in the console.',
  file_changed_meanwhile: '"{name}" has changed since you read it. Read it again before you write it.',
  file_error: '"{name}" cannot be read or written: the storage reports an error.',
  file_exists_meanwhile: '"{name}" exists already. Read it again before you write it.',
  file_forbidden: '"{name}" is not for Berth to read or change: the permissions on the storage forbid it.',
  file_gone_meanwhile: '"{name}" was deleted or renamed meanwhile. Read it again before you write it.',
  file_in_use: '"{name}" is in use on the storage. Try again later.',
  file_is_directory: '"{name}" is a directory.',
  file_is_link: '"{name}" is a link. Name what it leads to.',
  file_is_special: '"{name}" is a pipe, a socket or a device. Only regular files are read.',
  file_made_meanwhile: '"{name}" was made meanwhile. Read it again before you write it.',
  file_missing: '"{name}" does not exist.',
  file_name_refused: '"{name}" has a name that the storage does not accept.',
  file_name_rule: 'A name must have 1 to 255 bytes, must not be "." or "..", and must not hold "/" or NUL.',
  file_name_too_long: '"{name}" has a name that is too long for the storage.',
  file_not_directory: '"{name}" is no directory. If it is a link, name the directory that it leads to.',
  file_not_movable: '"{name}" cannot be moved into itself, or has a name that the storage does not accept.',
  file_not_regular: '"{name}" is no regular file.',
  file_other_system: '"{name}" lies on another file system than its new place. Copy it, and delete it here.',
  file_remounted: '"{name}" is not there any more: the storage was mounted anew. Try again.',
  file_shorter: 'A file became shorter while it was read. Try again when nothing writes to it.',
  file_storage_gone: '"{name}" cannot be reached: the storage is away.',
  file_storage_silent: '"{name}" cannot be reached: the storage does not answer.',
  file_there: '"{name}" exists already.',
  file_there_choose: '"{name}" exists already. Choose another name.',
  file_too_large: '"{name}" cannot be written: the storage allows no file of this size.',
  foreign_hard_link:
    '"{name}" is a hard link to a file of another owner, which may lie outside of the folder. It is not opened.',
  link_leads_nowhere: '"{name}" is a link that leads out of the folder, or to nothing. Leave it out.',
  link_leaves_folder:
    '"{name}" is a link that leads out of the folder, or is absolute. Only links to files of the same folder are followed.',
  link_loops: '"{name}" leads through too many links. Make a link that leads to its file directly.',
  links_not_followed: '"{name}" is no regular file. If it is a link, name the file that it leads to.',
  may_not_change: 'You may read the files of "{name}", but not change them. Ask the owner for the permission.',
  may_not_delete: 'You may not delete, replace or rename the files of "{name}". Ask the owner for the permission.',
  name_an_entry: 'Name a file or directory in the folder.',
  neither_file_nor_directory: '"{name}" is neither a file nor a directory.',
  nested_copy: '"{name}" is nested more than {levels} directories deep. Copy directories further down one by one.',
  no_byte_arrived: 'No byte arrived for a minute.',
  original_left: '"{name}" is in its new place, but could not be deleted in the old one. Delete it there.',
  path_is_folder: 'The path names the folder itself. Name a file in it.',
  path_names_file: 'The path must name a file in the folder.',
  special_file: '"{name}" is a pipe, a socket or a device.',
  text_too_long: 'The limit is 4 MiB. Upload larger files instead.',
  file_has_bytes: 'The file has {bytes} bytes.',

  // uploads
  upload_busy: 'Another request writes to this upload. Try again in a few seconds.',
  upload_concat:
    'Parts of one file cannot be uploaded beside each other and joined (Upload-Concat). Upload the file as one; tus-js-client and Uppy do so with parallelUploads: 1.',
  upload_continues_at: 'The upload continues at {at}, and the request starts at {from}.',
  upload_gone: 'The upload was cancelled, has expired, or never existed. Start it again.',
  upload_incomplete_yet: '{offset} of {size} bytes have arrived.',
  upload_needs_space: 'The upload needs {bytes} bytes, and the storage "{storage}" has {left} left.',
  upload_other_hash: '"{path}" arrived with another SHA-256 than announced. Upload it again.',
  upload_too_long: 'The body is longer than the rest of the upload.',
  downloads_at_most:
    'You have asked for {limit} downloads within four hours. Wait until some of their links have expired.',
  uploads_at_most: 'You have {limit} unfinished uploads. Finish or cancel some.',

  path_parts_at_most:
    'The paths of a request have at most {limit} directories and names together. Name fewer paths at a time.',

  // bundles
  bundle_file_too_large: '"{path}" has more than 1 MiB. Download it by itself.',
  bundle_entries_at_most: 'A bundle takes at most {limit} entries.',
  bundle_header_too_long: 'The header of an entry is too long.',
  bundle_bytes_at_most: 'A bundle takes at most {bytes} bytes of files.',
  bundle_cut: 'The body ends within an entry.',
  bundle_header_wrong: 'Header of an entry: {field} {text}',

  // limits
  quota_folder_files:
    '"{name}" may have {limit} files, directories and links, has {used}, and this makes {files} more. Delete files, or ask whoever manages the folder for a higher limit.',
  quota_total_files:
    'All folders of the owner of "{name}" may have {limit} files, directories and links, have {used}, and this makes {files} more. Delete files or folders, also from the trash, or ask an admin for another resource policy.',
  quota_project_files:
    'All folders of the project of "{name}" may have {limit} files, directories and links, have {used}, and this makes {files} more. Delete files or folders, also from the trash, or ask an admin of the project for a higher limit.',
  quota_folder_full:
    '"{name}" may have {limit}, has {used}, and this needs {bytes} more. Delete files, or ask whoever manages the folder for a higher limit.',
  quota_folder_staged:
    '"{name}" may have {limit}. It has {used} with the {staged} of uploads that are not finished, and this needs {bytes} more. Finish or cancel uploads (one that receives nothing holds room for 10 minutes), delete files, or ask whoever manages the folder for a higher limit.',
  quota_project_full:
    'All folders of the project of "{name}" may have {limit}, have {used}, and this needs {bytes} more. Delete files or folders, also from the trash, or ask an admin of the project for a higher limit.',
  quota_project_staged:
    'All folders of the project of "{name}" may have {limit}. They have {used} with the {staged} of uploads that are not finished, and this needs {bytes} more. Finish or cancel uploads (one that receives nothing holds room for 10 minutes), delete files or folders, also from the trash, or ask an admin of the project for a higher limit.',
  quota_total_full:
    'All folders of the owner of "{name}" may have {limit}, have {used}, and this needs {bytes} more. Delete files or folders, also from the trash, or ask an admin for another resource policy.',
  quota_total_staged:
    'All folders of the owner of "{name}" may have {limit}. They have {used} with the {staged} of uploads that are not finished, and this needs {bytes} more. Finish or cancel uploads (one that receives nothing holds room for 10 minutes), delete files or folders, also from the trash, or ask an admin for another resource policy.',

  file_requests: 'You have {limit} requests for files open. Wait until one of them has ended.',
  copies_of_person:
    'You have {limit} copies of files in progress, as many as one person may have. Wait until one of them has ended, or cancel one.',
  bundles_of_person:
    'You have {limit} uploads of many files open, as many as one person may have. Wait until one of them has ended.',
  // storage
  storage_entries_full: '"{name}" cannot be made: the storage allows no more entries here.',
  storage_keeps_for_sessions:
    'The disk of the storage "{storage}" is nearly full. {size} of it are kept free for sessions that write into folders. Delete files there, or choose another storage.',
  storage_keeps_free:
    'The disk of the storage "{storage}" is nearly full. {size} of it are kept free, so that the server can work.',
  storage_full: 'The storage "{storage}" is full.',
  storage_no_space: '"{name}" cannot be written: the storage has no space left.',
  storage_quota_full: '"{name}" cannot be written: the quota on the storage is used up.',
  storage_read_only: '"{name}" cannot be changed: the storage is mounted read-only.',
  storage_silent: 'The storage "{storage}" does not answer.',
  storage_unknown: 'This Berth has no storage host "{storage}".',
  storage_unmounted: 'The storage "{storage}" was unmounted just now.',
  no_storage_for_you: 'You may use no storage for folders. Ask an admin for one.',
  storage_not_for_you: 'You may use no storage host "{storage}"; yours are {yours}.',
  storage_at_silent: 'The storage "{storage}" at {path} does not answer.',
  storage_at_other: 'Another storage than that of "{storage}" is mounted at {path}.',
  storage_at_unmounted: 'The storage "{storage}" is not mounted at {path}: there is no file {file}.',
  storage_at_unusable: 'The storage "{storage}" at {path} cannot be used: {text}.',
  storage_at_not_empty:
    '{path} is no empty directory: the storage "{storage}" needs one of its own, which exists and is mounted.',
  storage_at_has_name: 'The storage at {path} is another storage host of this Berth, and cannot be "{storage}" too.',
  storage_at_differs: 'Another manager uses another storage as "{storage}": mount the same one at {path}.',
} as const
