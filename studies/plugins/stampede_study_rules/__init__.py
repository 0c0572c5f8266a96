"""Rules that the documents only propose, as policies without oracle: the plug-in `stampede-study-rules` of studies.

Each policy is a built-in one with one rule changed. A scenario names the plug-in in `plugins` and has `oracle = "off"`.
The tables have the tags from 0xf0 on, which leaves the lower ones to plug-ins of users.
"""
