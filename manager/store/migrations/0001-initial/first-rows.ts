/** Contents of a new installation: one domain, one project for everybody, and four presets. */
export const firstRows: readonly string[] = [
  `insert into domains (name) values ('default')`,
  `insert into resource_policies (name) values ('default')`,
  `insert into groups (id, domain, name) values (gen_random_uuid(), 'default', 'default')`,
  `insert into resource_groups (name) values ('default')`,
  `insert into resource_group_access (resource_group, domain) values ('default', 'default')`,
  `insert into presets (name, slots) values
    ('Light', '{"cpu": 1000, "mem": 2147483648}'),
    ('Standard', '{"cpu": 2000, "mem": 8589934592}'),
    ('Heavy', '{"cpu": 4000, "mem": 17179869184}'),
    ('One GPU', '{"cpu": 4000, "mem": 17179869184, "cuda.device": 1}')`,
]
